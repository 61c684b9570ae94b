import type { Stop } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import { randomId } from '../../base/random-id.ts'
import type { LeaseRecord } from '../../base/records.ts'
import { browserError } from '../../clients/browser-errors.ts'
import type {
  Answer,
  Ask,
  CallOptions,
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
import { type FrozenTabs, frozenTabs } from '../browser/frozen-tabs.ts'
import { mayBeListed, pageOf } from '../lease-page.ts'
import { ask, Effects, expire, isForgettable, release, shownRecords, waitingIn } from '../lease-row.ts'
import type { Work } from '../local/calls.ts'
import { LocalListeners } from '../local/listeners.ts'
import { StoreCalls } from '../local/store-calls.ts'
import { type EndFollower, followEnds } from './follow-ends.ts'
import { type LeaseHolds, leaseHolds } from './lease-holds.ts'
import { type HeldLock, type LeaseLocks, leaseLocks, type NamedLease } from './lease-locks.ts'
import { FLOOR, FOREVER_MS, isStranger, type LockRows, lockRows, type OpenRow } from './opened-rows.ts'
import { ASK_AGAIN_MS, type CheckedLockOptions } from './options.ts'
import { type TabPush, tabPush } from './push.ts'
import { indexedDbRecords, type LeaseRecords } from './rows.ts'

/** What the row of a resource says to a request. */
interface Decision {
  readonly answer: Answer
  readonly effects: Effects
}

/**
 * The port on Web Locks: the browser frees the locks of a tab that is closed. Holders, tokens and the queue are rows in
 * IndexedDB, which `lease-row.ts` changes. A row is changed only under the gate of its resource, another Web Lock.
 */
export class WebLockStore implements LeaseStore {
  readonly kind = 'web-locks'
  readonly supports = { queue: true, push: true, expiry: false, list: true, share: true }
  readonly #clock: Clock
  readonly #calls: StoreCalls
  readonly #native: LeaseLocks
  readonly #records: LeaseRecords
  readonly #listeners: LocalListeners
  readonly #push: TabPush
  readonly #frozen: FrozenTabs
  readonly #holds: LeaseHolds
  readonly #rows: LockRows
  readonly #ends: EndFollower
  /** Names this store in the queues: when one of its waiters misses its turn, all of them lose their places. */
  readonly #channel = randomId()
  /** The ids whose release is under way. `close` lets it end them. */
  readonly #releasing = new Set<string>()
  #waitersLock: Promise<HeldLock | null> | undefined

  constructor({ prefix, locks, clock, takeoverMs }: CheckedLockOptions) {
    const release = (by: ReleaseAsk) => this.#releaseWork(by)
    const native = leaseLocks(locks, prefix)
    const listeners = new LocalListeners(clock)
    const frozen = frozenTabs(() => locks, prefix, clock, takeoverMs)
    const holds = leaseHolds(native, frozen, (id) => listeners.ended(id, Infinity))
    this.#clock = clock
    this.#calls = new StoreCalls({ backend: 'Web Locks', explain: browserError, clock, release })
    this.#native = native
    this.#records = indexedDbRecords(prefix)
    this.#listeners = listeners
    this.#push = tabPush(prefix, listeners)
    this.#frozen = frozen
    this.#holds = holds
    this.#rows = lockRows(this.#records, native, clock, { channel: this.#channel, holds: holds.byId })
    this.#ends = followEnds(
      native,
      listeners,
      (resource) => this.#settle(resource),
      (lease, isAwaited, signal) => this.#watchHolder(lease, isAwaited, signal),
    )
  }

  acquire(request: Ask, call?: CallOptions): Promise<Answer> {
    const { resource, id } = request
    const listeners = this.#listeners
    return this.#calls.acquire(
      request,
      async (stop) => {
        listeners.expect(request)
        const answer = await this.#native
          .gated(resource, () => this.#acquireUnderGate(request, stop))
          .catch((error) => {
            listeners.failed(id)
            throw error
          })
        if (answer.granted) listeners.granted(answer.lease)
        else listeners.refused(id, answer.place !== null)
        return answer
      },
      call,
    )
  }

  renew({ resource, id }: RenewAsk, call?: CallOptions): Promise<Renewal> {
    return this.#calls.run(
      async () => {
        const [found = []] = await this.#readAll([resource])
        const holders = found.filter(({ state }) => state === 'held')
        const lease = holders.find((holder) => holder.id === id)
        if (!lease) return { ok: false, holders }
        this.#push.publish({ changes: [lease] })
        return { ok: true, lease }
      },
      call,
      resource,
    )
  }

  release(by: ReleaseAsk, call?: CallOptions): Promise<Released> {
    return this.#calls.release(by, this.#releaseWork(by), call)
  }

  read(resources: readonly string[], call?: CallOptions): Promise<LeaseRecord[][]> {
    return this.#calls.run(() => this.#readAll(resources), call)
  }

  waiting({ resources, limit }: WaitingQuery, call?: CallOptions): Promise<WaitingQueue[]> {
    return this.#calls.run(async () => {
      const found = await this.#rows.openSome(resources)
      return found.map(({ queue }) => waitingIn([...queue.values()], limit))
    }, call)
  }

  list(query: ListQuery, call?: CallOptions): Promise<LeasePage> {
    return this.#calls.run(async () => {
      const found = await this.#rows.openAll(({ resource }) => mayBeListed(resource, query))
      const now = this.#clock.now()
      return pageOf(
        found.flatMap((row) => shown(shownRecords(row, now))),
        query,
      )
    }, call)
  }

  sweep({ limit }: { readonly limit: number }, call?: CallOptions): Promise<LeaseRecord[]> {
    return this.#calls.scan(async (stop) => {
      const swept: LeaseRecord[] = []
      for (const { resource } of await this.#records.all()) {
        if (swept.length >= limit || stop.reason) break
        const tidy = () => this.#tidy(resource, limit - swept.length)
        if (resource !== FLOOR) swept.push(...(await this.#native.gated(resource, tidy)))
      }
      return swept
    }, call)
  }

  watch(on: (event: StoreEvent) => void, { prefix }: { prefix?: string } = {}): Promise<AsyncDisposable> {
    return this.#calls.run(() => this.#listeners.watch(on, prefix))
  }

  /** Also ends the leases that are held: a Web Lock has no TTL, so they would never end. */
  async close(): Promise<void> {
    const closing = this.#calls.close()
    this.#ends.close()
    for (const [id, hold] of [...this.#holds.byId]) if (!this.#releasing.has(id)) void hold.letGo()
    void this.#waitersLock?.then((lock) => lock?.letGo())
    this.#push.close()
    this.#listeners.clear()
    await closing
    this.#records.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #releaseWork(by: ReleaseAsk): Work<Released> {
    return async () => {
      const id = 'id' in by ? by.id : ''
      const hold = this.#holds.byId.get(id)
      this.#listeners.forget(id)
      this.#releasing.add(id)
      try {
        return await this.#native.gated(by.resource, () => this.#releaseUnderGate(by))
      } finally {
        this.#releasing.delete(id)
        // Also if the row could not be written: a lease lives only while its lock is held.
        await hold?.letGo()
      }
    }
  }

  /** Under the gate. */
  async #acquireUnderGate(request: Ask, stop: Stop): Promise<Answer> {
    stop.throwIfAborted()
    const { resource, id, replace } = request
    const opened = await this.#rows.open(resource, request.share !== undefined || replace !== undefined)
    const tokenBefore = opened.row.token
    const decided = this.#decide(opened, request)
    let hold: HeldLock | null = null
    if (decided.answer.granted && decided.answer.lease.token > tokenBefore && !this.#holds.byId.has(id)) {
      const isStealing =
        replace === 'any' || decided.effects.changes.some(({ state }) => state === 'taken-over')
      hold = await this.#holds.take(decided.answer.lease, {
        victims: isStealing ? opened.living.values() : undefined,
        isEvicted: opened.row.isEvicted,
      })
      if (!hold) {
        const again = await this.#rows.open(resource, true)
        this.#rows.addStranger(again.row)
        return this.#conclude(again, this.#decide(again, { ...request, replace: undefined }))
      }
      if (decided.answer.lease.share === null) opened.row.isEvicted = false
    }
    try {
      // A caller that has gone would keep the lock forever: it has no TTL.
      stop.throwIfAborted()
      return await this.#conclude(opened, decided)
    } catch (error) {
      // A lock without a row would have no owner, and would be held forever.
      await hold?.letGo()
      throw error
    }
  }

  #decide({ row }: OpenRow, request: Ask): Decision {
    const effects = new Effects()
    const forever = { ...request, ttl: FOREVER_MS }
    return {
      answer: ask(row, forever, request.wake ? this.#channel : null, this.#clock.now(), effects),
      effects,
    }
  }

  /** Saves what was decided, and tells those whom it concerns. */
  async #conclude(opened: OpenRow, { answer, effects }: Decision): Promise<Answer> {
    if (!answer.granted && answer.place !== null) await this.#showWaiters()
    await this.#rows.save(opened)
    this.#publish(effects)
    if (answer.granted) {
      const { lease, replaced } = answer
      const [known] = replaced ? shown([replaced]) : []
      return { granted: true, lease: timeless(lease), ...(known && { replaced: known }) }
    }
    if (answer.place !== null) for (const lease of opened.living.values()) this.#ends.follow(lease)
    const retryIn = Math.min(answer.retryIn ?? Infinity, ASK_AGAIN_MS)
    return { ...answer, holders: shown(answer.holders), retryIn }
  }

  /** Before a waiter is in the row: those of a store that does not hold this lock are dropped. */
  async #showWaiters(): Promise<void> {
    this.#waitersLock ??= this.#native.waiters(this.#channel)
    await this.#waitersLock.catch((error) => {
      this.#waitersLock = undefined
      throw error
    })
  }

  /** Under the gate. */
  async #releaseUnderGate(by: ReleaseAsk): Promise<Released> {
    const opened = await this.#rows.open(by.resource)
    const { row } = opened
    const effects = new Effects()
    // A lease that has ended holds no lock.
    const isKept = row.leases.some(({ token, keptUntil }) => 'token' in by && token === by.token && keptUntil)
    const { ended, holders } = release(row, by, this.#clock.now(), effects)
    const evicted = isKept ? null : ended
    const hold = evicted && this.#holds.byId.get(evicted.id)
    if (evicted && !hold && holders.length > 0) row.isEvicted = true
    await this.#rows.save(opened)
    // First, so that those who follow its end know that it was told. A request that comes now waits for the gate.
    this.#publish(effects)
    if (hold) await hold.letGo()
    else if (evicted) await this.#holds.evict(by.resource, [evicted], holders.length === 0)
    return { ended: ended && timeless(ended), holders: shown(holders) }
  }

  /** The tab that follows the end of the lease gives the waiters their turn. */
  #watchHolder(lease: NamedLease, isAwaited: () => boolean, signal: AbortSignal): void {
    const { resource, id } = lease
    const evict = (isSilent: () => Promise<boolean>) =>
      this.#native.gated(resource, async () => {
        const opened = await this.#rows.open(resource, true)
        if (!opened.living.has(id) || !(await isSilent())) return
        const isAlone = opened.living.size === 1
        if (!isAlone) opened.row.isEvicted = true
        await this.#rows.save(opened)
        await this.#holds.evict(resource, [lease], isAlone)
      })
    this.#frozen.watch({ name: this.#native.ownName(lease), isAwaited, evict }, signal)
  }

  /** Gives the waiters their turn, after a lease has ended without a release. */
  #settle(resource: string): Promise<void> {
    const work = async () => {
      const opened = await this.#rows.open(resource)
      const effects = new Effects()
      const now = this.#clock.now()
      expire(opened.row, now, effects, 0)
      await this.#rows.save(opened)
      this.#publish(effects)
      // If the lease that ended keeps the resource, they ask how long.
      if (opened.row.leases.some(({ expiresAt }) => expiresAt <= now))
        for (const waiter of this.#listeners.waiting())
          if (waiter.resource === resource) this.#listeners.wake(waiter.id, 0)
    }
    return this.#calls.run(() => this.#native.gated(resource, work))
  }

  /** Ends the leases of tabs that were closed, and deletes rows that nobody needs. Under the gate. */
  async #tidy(resource: string, limit: number): Promise<LeaseRecord[]> {
    const opened = await this.#rows.open(resource)
    const effects = new Effects()
    const now = this.#clock.now()
    const expired = expire(opened.row, now, effects, limit)
    if (isForgettable(opened.row, now)) await this.#rows.remove(opened.row)
    else await this.#rows.save(opened)
    this.#publish(effects)
    return shown(expired)
  }

  async #readAll(resources: readonly string[]): Promise<LeaseRecord[][]> {
    const found = await this.#rows.openSome(resources)
    const now = this.#clock.now()
    return found.map((row) => shown(shownRecords(row, now)))
  }

  #publish({ changes, wakes }: Effects): void {
    this.#push.publish({ changes: shown(changes), wakes })
  }
}

function shown(leases: readonly LeaseRecord[]): LeaseRecord[] {
  return leases.filter((lease) => !isStranger(lease)).map(timeless)
}

/** A Web Lock does not expire. Only what keeps a resource afterwards has a time. */
function timeless(lease: LeaseRecord): LeaseRecord {
  return lease.state === 'kept' ? lease : { ...lease, expiresAt: null, remaining: null }
}
