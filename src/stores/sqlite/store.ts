import type {
  Answer,
  Ask,
  CallOptions,
  Clock,
  LeasePage,
  LeaseRecord,
  LeaseStore,
  ListQuery,
  Renewal,
  StoreEvent,
} from '../../core/index.ts'
import { ask, liveRecord, release } from '../lease-row.ts'
import { Changes } from './changes.ts'
import type { Connection } from './connection.ts'
import { DamagedRows } from './damaged-rows.ts'
import { Gate } from './gate.ts'
import { Ledger } from './ledger.ts'
import { Listeners } from './listeners.ts'
import { Lookout } from './lookout.ts'
import { Renewals } from './renewals.ts'
import type { StoredRow } from './stored-row.ts'
import { prune, sweepExpired } from './sweeping.ts'
import type { Step } from './transaction.ts'

const PRUNE_EVERY_MS = 60_000
const PRUNE_ON_MS = 1000

type Release = Parameters<LeaseStore['release']>[0]
type Released = Awaited<ReturnType<LeaseStore['release']>>

/** The port on SQLite: each call is a step on a row, and is told to those of this process whom it concerns. */
export class SqliteStore implements LeaseStore {
  readonly kind = 'sqlite'
  readonly supports = { queue: true, push: true, expiry: true, list: true }
  readonly #connection: Connection
  readonly #clock: Clock
  readonly #gate: Gate
  readonly #ledger: Ledger
  readonly #renewals: Renewals
  readonly #listeners = new Listeners()
  readonly #changes: Changes
  readonly #lookout: Lookout
  readonly #damaged = new DamagedRows()
  /** Names this process in the lines: when one of its waiters does not come, its others are passed over too. */
  readonly #channel = crypto.randomUUID().slice(0, 8)
  #pruneAt = 0

  constructor(connection: Connection, clock: Clock) {
    this.#connection = connection
    this.#clock = clock
    this.#gate = new Gate(clock, connection.name)
    this.#ledger = new Ledger(connection, clock, (effects) => {
      this.#listeners.tell(effects)
      this.#changes.readSoon()
    })
    this.#renewals = new Renewals(this.#gate, this.#ledger)
    this.#changes = new Changes(clock, this.#gate, this.#ledger, connection)
    this.#lookout = new Lookout(clock, connection, this.#damaged, this.#listeners, this.#changes)
  }

  acquire(request: Ask, call?: CallOptions): Promise<Answer> {
    return this.#gate.run(() => this.#acquire(request), call?.signal)
  }

  renew({ resource, id, ttl }: Parameters<LeaseStore['renew']>[0], call?: CallOptions): Promise<Renewal> {
    return this.#renewals.renew(resource, id, ttl, call?.signal)
  }

  release(by: Release, call?: CallOptions): Promise<Released> {
    return this.#gate.run(() => this.#release(by), call?.signal)
  }

  read(resources: readonly string[], call?: CallOptions): Promise<readonly (LeaseRecord | null)[]> {
    return this.#gate.pass(() => {
      const found = this.#connection.queries.read(resources)
      const now = this.#clock.now()
      const leases = new Map(found.map((stored) => [stored.resource, this.#live(stored, now)]))
      return resources.map((resource) => leases.get(resource) ?? null)
    }, call?.signal)
  }

  list({ prefix = '', limit, after = '' }: ListQuery, call?: CallOptions): Promise<LeasePage> {
    return this.#gate.pass(() => {
      const now = this.#clock.now()
      const found = this.#connection.queries.list(prefix, after, now, limit + 1)
      const page = found.slice(0, limit)
      const leases = page.map((stored) => this.#live(stored, now)).filter((lease) => lease !== null)
      const last = page.at(-1)
      return { leases, ...(last && found.length > limit && { next: last.resource }) }
    }, call?.signal)
  }

  sweep({ limit }: { readonly limit: number }, call?: CallOptions): Promise<readonly LeaseRecord[]> {
    return this.#gate.run(
      () =>
        this.#ledger.transact((transaction) => {
          const swept = sweepExpired(transaction, this.#damaged, limit)
          prune(transaction)
          return swept
        }),
      call?.signal,
    )
  }

  async watch(on: (event: StoreEvent) => void, { prefix = '' } = {}): Promise<AsyncDisposable> {
    const watch = await this.#changes.watch(on, prefix)
    this.#lookout.start()
    return watch
  }

  async close(): Promise<void> {
    this.#gate.close()
    this.#renewals.close()
    this.#changes.stop()
    this.#listeners.clear()
    this.#lookout.stop()
    this.#connection.close()
  }

  #acquire(request: Ask): Answer {
    this.#pruneIfDue()
    const { resource, wake } = request
    const step: Step<Answer> = (row, now, effects) =>
      ask(row, request, wake ? this.#channel : null, now, effects)
    const lease = this.#ledger.grantIfFree(request)
    const answer = lease
      ? { granted: true as const, lease }
      : (this.#ledger.peek(resource, step) ??
        this.#ledger.transact((transaction) => transaction.changeOrCreate(resource, step)))
    this.#listeners.remember(request, answer)
    this.#lookout.start()
    return answer
  }

  #release(by: Release): Released {
    const granted = 'id' in by ? this.#listeners.granted(by.resource, by.id) : undefined
    if ('id' in by) this.#listeners.forget(by.resource, by.id)
    const ended = granted && this.#ledger.releaseIfUnchanged(granted)
    if (ended) return { ended, holder: null }
    const step: Step<Released> = (row, now, effects) => release(row, by, now, effects)
    const released = this.#ledger.transact((transaction) => transaction.change(by.resource, step))
    return released ?? { ended: null, holder: null }
  }

  #pruneIfDue(): void {
    const now = this.#clock.now()
    // Also when the clock has stepped back behind the last time.
    if (now < this.#pruneAt && now >= this.#pruneAt - PRUNE_EVERY_MS) return
    const isDone = this.#ledger.transact(prune)
    this.#pruneAt = now + (isDone ? PRUNE_EVERY_MS : PRUNE_ON_MS)
  }

  #live(stored: StoredRow, now: number): LeaseRecord | null {
    const row = this.#damaged.decode(stored, now)
    return row && liveRecord(row, now)
  }
}
