import type { Stop } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import { randomId } from '../../base/random-id.ts'
import type { LeaseRecord } from '../../base/records.ts'
import { decodeShare } from '../../base/share.ts'
import { sqliteError } from '../../clients/sqlite-errors.ts'
import type {
  Answer,
  Ask,
  CallOptions,
  Grant,
  LeasePage,
  LeaseStore,
  ListQuery,
  ReleaseAsk,
  Released,
  RenewAsk,
  Renewal,
  StoreEvent,
  WaitingQuery,
  WaitingQueue,
} from '../../core/index.ts'
import { cursorOf, mayBeListed, pageOf } from '../lease-page.ts'
import { ask, release, shownRecords, waitingIn, wouldGrant } from '../lease-row.ts'
import { LocalListeners } from '../local/listeners.ts'
import { checkedSoon, ownProcess, withProcess } from '../local/process-node.ts'
import { StoreCalls } from '../local/store-calls.ts'
import { PRUNE_EVERY_MS } from '../options.ts'
import { BusyQueue } from './busy-queue.ts'
import { ChangeLog } from './change-log.ts'
import type { Connection } from './connection.ts'
import { PRUNE_MORE_AFTER_MS } from './options.ts'
import { Push } from './push.ts'
import { liveWaiters } from './queue.ts'
import { Renewals } from './renewals.ts'
import { DamagedRows, type StoredRow } from './rows.ts'
import { type Step, Transitions } from './transitions.ts'

/** Rolls the transaction back in which several requests are granted or none. */
class NotGranted extends Error {}

/** The port on SQLite. Each call is synchronous, unless the database is busy. */
export class SqliteStore implements LeaseStore {
  readonly kind = 'sqlite'
  readonly supports = { queue: true, push: true, expiry: true, list: true, share: true }
  readonly #connection: Connection
  readonly #clock: Clock
  readonly #calls: StoreCalls
  readonly #queue: BusyQueue
  readonly #transitions: Transitions
  readonly #renewals: Renewals
  readonly #listeners: LocalListeners
  readonly #changeLog: ChangeLog
  readonly #push: Push
  readonly #damaged = new DamagedRows()
  /** Names this process in the queues: when one of its waiters misses its turn, all of them lose their places. */
  readonly #channel = randomId().slice(0, 8)
  #pruneAt = 0

  constructor(connection: Connection, clock: Clock) {
    const explain = (error: unknown, resource?: string) => sqliteError(error, connection.name, resource)
    const listeners = new LocalListeners(clock)
    const queue = new BusyQueue(clock)
    const transitions = new Transitions(connection, clock, (effects) => {
      listeners.carryOut(effects)
      changeLog.readSoon()
    })
    const run = (work: () => void) => this.#write(work)
    const changeLog = new ChangeLog({ clock, connection, transitions, listeners, run })
    this.#connection = connection
    this.#clock = clock
    const releaseLate = (by: ReleaseAsk) => (stop: Stop) => this.#queue.write(() => this.#release(by), stop)
    this.#calls = new StoreCalls({ backend: 'SQLite', explain, clock, release: releaseLate })
    this.#queue = queue
    this.#transitions = transitions
    this.#renewals = new Renewals(queue, transitions)
    this.#listeners = listeners
    this.#changeLog = changeLog
    this.#push = new Push({ clock, connection, damaged: this.#damaged, listeners, changeLog })
  }

  acquire(request: Ask, call?: CallOptions): Promise<Answer> {
    // What must not be forgotten once it was told.
    const work = (stop: Stop) => this.#onDisk(this.#queue.write(() => this.#acquire(request), stop))
    return this.#calls.acquire(request, work, call)
  }

  acquireAll(requests: readonly Ask[], call?: CallOptions): Promise<readonly Grant[] | null> {
    const work = (stop: Stop) => this.#onDisk(this.#queue.write(() => this.#acquireAll(requests), stop))
    return this.#calls.acquireAll(requests, work, call)
  }

  async renew(request: RenewAsk, call?: CallOptions): Promise<Renewal> {
    const renewing = (stop: Stop) => this.#onDisk(this.#renewals.renew(request, stop))
    const renewal = await this.#calls.run(renewing, call, request.resource)
    if (renewal.ok) this.#listeners.renewed(renewal.lease)
    return renewal
  }

  release(by: ReleaseAsk, call?: CallOptions): Promise<Released> {
    return this.#calls.release(by, (stop) => this.#queue.write(() => this.#release(by), stop), call)
  }

  read(resources: readonly string[], call?: CallOptions): Promise<readonly (readonly LeaseRecord[])[]> {
    return this.#read(() => {
      const found = this.#connection.queries.read(resources)
      const now = this.#clock.now()
      const leases = new Map(found.map((stored) => [stored.resource, this.#shown(stored, now)]))
      return resources.map((resource) => leases.get(resource) ?? [])
    }, call)
  }

  waiting({ resources, limit }: WaitingQuery, call?: CallOptions): Promise<readonly WaitingQueue[]> {
    return this.#read(() => {
      const { queries } = this.#connection
      const awaited = queries.read(resources).filter(({ line }) => line !== null)
      const now = this.#clock.now()
      const rows = new Map(awaited.map((stored) => [stored.resource, this.#damaged.decode(stored, now)]))
      return resources.map((resource) => {
        const row = rows.get(resource)
        const waiters = row ? liveWaiters(queries, row) : []
        return waitingIn(
          waiters.map(({ share, ...waiter }) => ({ ...waiter, share: decodeShare(share) })),
          limit,
        )
      })
    }, call)
  }

  list(query: ListQuery, call?: CallOptions): Promise<LeasePage> {
    return this.#read(() => {
      const now = this.#clock.now()
      const { prefix = '', limit, after } = query
      // One more than the page for `next`, and the resource at which the page begins.
      const found = this.#connection.queries.list(prefix, cursorOf(after).resource, now, limit + 2)
      const listed = found.filter(({ resource }) => mayBeListed(resource, query))
      const page = pageOf(
        listed.flatMap((stored) => this.#shown(stored, now)),
        query,
      )
      const last = found.at(-1)
      // Damaged rows were counted, so there may be more although the page is not full.
      const isCut = !page.next && last && found.length === limit + 2
      return isCut ? { ...page, next: last.resource } : page
    }, call)
  }

  /** Something can be written, to the file that others open too, and this code knows its version. */
  check(call?: CallOptions): Promise<void> {
    return this.#keep(
      () =>
        this.#connection.transaction((queries) => {
          queries.meta()
          queries.tryWriting()
        }),
      call,
    )
  }

  sweep({ limit }: { readonly limit: number }, call?: CallOptions): Promise<readonly LeaseRecord[]> {
    return this.#keep(
      () =>
        this.#transitions.transact((transaction) => {
          const swept = transaction.sweep(this.#damaged, limit)
          transaction.prune()
          return swept
        }),
      call,
    )
  }

  async watch(on: (event: StoreEvent) => void, { prefix = '' } = {}): Promise<AsyncDisposable> {
    const watch = await this.#write(() => this.#changeLog.watch(on, prefix))
    this.#push.start()
    return watch
  }

  async close(): Promise<void> {
    const closing = this.#calls.close()
    this.#queue.dropAborted()
    this.#changeLog.stop()
    this.#push.stop()
    this.#listeners.clear()
    await closing
    this.#queue.dropAborted()
    this.#connection.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #write<T>(work: () => T, call?: CallOptions, resource?: string): Promise<T> {
    return this.#calls.run((stop) => this.#queue.write(work, stop), call, resource)
  }

  /** For what must not be forgotten once it was told. A release is not among it: it is safe to lose one. */
  #keep<T>(work: () => T, call?: CallOptions, resource?: string): Promise<T> {
    return this.#calls.run((stop) => this.#onDisk(this.#queue.write(work, stop)), call, resource)
  }

  /** A refusal has changed nothing that matters. */
  #onDisk<T>(answer: T | Promise<T>): T | Promise<T> {
    if (answer instanceof Promise) return answer.then((later) => this.#onDisk(later))
    if (Object(answer).granted === false) return answer
    return this.#connection.synced()?.then(() => answer) ?? answer
  }

  #read<T>(work: () => T, call?: CallOptions): Promise<T> {
    return this.#calls.run((stop) => this.#queue.read(work, stop), call)
  }

  #acquire(request: Ask): Answer {
    this.#pruneIfDue()
    const { resource, id, wake } = request
    const rowAsk = withProcess(request)
    const step: Step<Answer> = (row, now, effects, unread) => {
      const process = ownProcess()
      if (wake && process !== null) row.processes.set(this.#channel, process)
      const answer = ask(row, rowAsk, wake ? this.#channel : null, now, effects, unread)
      return checkedSoon(row, answer)
    }
    const lease = this.#transitions.grantIfFree(rowAsk)
    const answer: Answer = lease
      ? { granted: true, lease }
      : (this.#transitions.peek(resource, id, step) ??
        this.#transitions.transact((transaction) => transaction.changeOrCreate(resource, id, step)))
    this.#listeners.answered(request, answer)
    this.#push.start()
    return answer
  }

  /** In one transaction, which is rolled back if one of them is refused. */
  #acquireAll(requests: readonly Ask[]): readonly Grant[] | null {
    this.#pruneIfDue()
    try {
      const grants = this.#transitions.transact((transaction) =>
        requests.map((request) => {
          const rowAsk = withProcess(request)
          const step: Step<Grant> = (row, now, effects, unread) => {
            if (!wouldGrant(row, rowAsk, now)) throw new NotGranted()
            return ask(row, rowAsk, null, now, effects, unread) as Grant
          }
          return transaction.changeOrCreate(request.resource, request.id, step)
        }),
      )
      for (const [n, grant] of grants.entries()) this.#listeners.answered(requests[n] as Ask, grant)
      this.#push.start()
      return grants
    } catch (error) {
      if (error instanceof NotGranted) return null
      throw error
    }
  }

  #release(by: ReleaseAsk): Released {
    const held = 'id' in by ? this.#listeners.forget(by.id) : null
    const ended = held?.resource === by.resource && this.#transitions.releaseIfUnchanged(held)
    if (ended) return { ended, holders: [] }
    const step: Step<Released> = (row, now, effects) => release(row, by, now, effects)
    const id = 'id' in by ? by.id : null
    const released = this.#transitions.transact((transaction) => transaction.change(by.resource, id, step))
    return released ?? { ended: null, holders: [] }
  }

  #pruneIfDue(): void {
    const now = this.#clock.now()
    // Also after the clock has stepped back.
    if (now < this.#pruneAt && now >= this.#pruneAt - PRUNE_EVERY_MS) return
    const isDone = this.#transitions.transact((transaction) => transaction.prune())
    this.#pruneAt = now + (isDone ? PRUNE_EVERY_MS : PRUNE_MORE_AFTER_MS)
  }

  #shown(stored: StoredRow, now: number): LeaseRecord[] {
    const row = this.#damaged.decode(stored, now)
    return row ? shownRecords(row, now) : []
  }
}
