import type { Stop } from '../../base/abort.ts'
import { expectMethods, expectOptions, expectText } from '../../base/arguments.ts'
import { type Clock, expectClock, systemClock } from '../../base/clock.ts'
import type { Duration } from '../../base/duration.ts'
import { randomId } from '../../base/random-id.ts'
import type { LeaseRecord } from '../../base/records.ts'
import { browserError } from '../../clients/browser-errors.ts'
import type { Answer, Ask, LeaseStore, ReleaseAsk, Released } from '../../core/index.ts'
import { checkTakeOver, frozenTabs, TAKE_OVER_MS } from '../browser/frozen-tabs.ts'
import type { WebLocks } from '../browser/platform.ts'
import { mayBeListed, pageOf } from '../lease-page.ts'
import { ask, Effects, expire, isForgettable, release, shownRecords, waitingIn } from '../lease-row.ts'
import type { Work } from '../local/calls.ts'
import { LocalListeners } from '../local/listeners.ts'
import { StoreCalls } from '../local/store-calls.ts'
import { followEnds } from './follow-ends.ts'
import { leaseHolds } from './lease-holds.ts'
import { type HeldLock, leaseLocks, type NamedLease } from './lease-locks.ts'
import { FLOOR, FOREVER_MS, isStranger, lockRows, type OpenRow } from './opened-rows.ts'
import { tabPush } from './push.ts'
import { indexedDbRecords } from './rows.ts'

/** A waiter is woken when its turn comes. In case that fails, it asks again after this long. */
const ASK_AGAIN_MS = 5000

export interface WebLockStoreOptions {
  /** Before the names of locks; also the name of the database and of the channel. Default `holdfast:`. */
  readonly prefix?: string
  /** Default: `navigator.locks`. */
  readonly locks?: WebLocks
  /** Default: the system's. */
  readonly clock?: Clock
  /**
   * A tab that holds a lease and does not answer for this long is frozen: a waiting tab takes its lease. At least 5 s.
   * `false`: the lease ends only with its tab, as a Web Lock does. Default 30 s.
   */
  readonly takeOverAfter?: Duration | false
}

/**
 * Leases on Web Locks: the browser frees the locks of a tab that is closed. Holders, tokens and the queue are rows in
 * IndexedDB, which `lease-row.ts` changes. A row is changed only under the gate of its resource, another Web Lock.
 *
 * @example
 * const leases = createLeases(webLockStore())
 */
export function webLockStore(options: WebLockStoreOptions = {}): LeaseStore {
  expectOptions(options, { prefix: 1, locks: 1, clock: 1, takeOverAfter: 1 })
  const { prefix = 'holdfast:', locks = navigator.locks, clock = systemClock } = options
  const takeOverMs = checkTakeOver('takeOverAfter', options.takeOverAfter ?? TAKE_OVER_MS)
  expectText('prefix', prefix)
  expectMethods('locks', locks, 'Web Locks, which need HTTPS or localhost', 'request', 'query')
  expectClock('clock', clock)
  const calls = new StoreCalls({ backend: 'Web Locks', explain: browserError, clock, release: releaseWork })
  const native = leaseLocks(locks, prefix)
  const records = indexedDbRecords(prefix)
  const listeners = new LocalListeners(clock)
  const push = tabPush(prefix, listeners)
  const frozen = frozenTabs(() => locks, prefix, clock, takeOverMs)
  const holds = leaseHolds(native, frozen, (id) => listeners.ended(id, Infinity))
  /** Names this store in the queues: when one of its waiters misses its turn, all of them lose their places. */
  const channel = randomId()
  const rows = lockRows(records, native, clock, { channel, holds: holds.byId })
  let waitersLock: Promise<HeldLock | null> | undefined
  /** The ids whose release is under way. `close` lets it end them. */
  const releasing = new Set<string>()
  const ends = followEnds(native, listeners, settle, watchHolder)

  return {
    kind: 'web-locks',
    supports: { queue: true, push: true, expiry: false, list: true, share: true },

    acquire: (request, call) =>
      calls.acquire(
        request,
        async (stop) => {
          listeners.expect(request)
          const answer = await native
            .gated(request.resource, () => acquire(request, stop))
            .catch((error) => {
              listeners.failed(request.id)
              throw error
            })
          if (answer.granted) listeners.granted(answer.lease)
          else listeners.refused(request.id, answer.place !== null)
          return answer
        },
        call,
      ),

    renew: ({ resource, id }, call) =>
      calls.run(
        async () => {
          const [found = []] = await readAll([resource])
          const holders = found.filter(({ state }) => state === 'held')
          const lease = holders.find((holder) => holder.id === id)
          if (!lease) return { ok: false, holders }
          push.publish({ changes: [lease] })
          return { ok: true, lease }
        },
        call,
        resource,
      ),

    release: (by, call) => calls.release(by, releaseWork(by), call),

    read: (resources, call) => calls.run(() => readAll(resources), call),

    waiting: ({ resources, limit }, call) =>
      calls.run(async () => {
        const found = await rows.openSome(resources)
        return found.map(({ queue }) => waitingIn([...queue.values()], limit))
      }, call),

    list: (query, call) =>
      calls.run(async () => {
        const found = await rows.openAll(({ resource }) => mayBeListed(resource, query))
        const now = clock.now()
        return pageOf(
          found.flatMap((row) => shown(shownRecords(row, now))),
          query,
        )
      }, call),

    sweep: ({ limit }, call) =>
      calls.scan(async (stop) => {
        const swept: LeaseRecord[] = []
        for (const { resource } of await records.all()) {
          if (swept.length >= limit || stop.reason) break
          if (resource !== FLOOR)
            swept.push(...(await native.gated(resource, () => tidy(resource, limit - swept.length))))
        }
        return swept
      }, call),

    watch: (on, { prefix: watched } = {}) => calls.run(() => listeners.watch(on, watched)),

    /** Also ends the leases that are held: a Web Lock has no TTL, so they would never end. */
    close,
    [Symbol.asyncDispose]: close,
  }

  async function close(): Promise<void> {
    const closing = calls.close()
    ends.close()
    for (const [id, hold] of [...holds.byId]) if (!releasing.has(id)) void hold.letGo()
    void waitersLock?.then((lock) => lock?.letGo())
    push.close()
    listeners.clear()
    await closing
    records.close()
  }

  function releaseWork(by: ReleaseAsk): Work<Released> {
    return async () => {
      const id = 'id' in by ? by.id : ''
      const hold = holds.byId.get(id)
      listeners.forget(id)
      releasing.add(id)
      try {
        return await native.gated(by.resource, () => releaseLease(by))
      } finally {
        releasing.delete(id)
        // Also if the row could not be written: a lease lives only while its lock is held.
        await hold?.letGo()
      }
    }
  }

  /** Under the gate. */
  async function acquire(request: Ask, stop: Stop): Promise<Answer> {
    stop.throwIfAborted()
    const { resource, id, replace } = request
    const opened = await rows.open(resource, request.share !== undefined || replace !== undefined)
    const tokenBefore = opened.row.token
    const decided = decide(opened, request)
    let hold: HeldLock | null = null
    if (decided.answer.granted && decided.answer.lease.token > tokenBefore && !holds.byId.has(id)) {
      const isStealing =
        replace === 'any' || decided.effects.changes.some(({ state }) => state === 'taken-over')
      hold = await holds.take(decided.answer.lease, {
        victims: isStealing ? opened.living.values() : undefined,
        isEvicted: opened.row.isEvicted,
      })
      if (!hold) {
        const again = await rows.open(resource, true)
        rows.addStranger(again.row)
        return conclude(again, decide(again, { ...request, replace: undefined }))
      }
      if (decided.answer.lease.share === null) opened.row.isEvicted = false
    }
    try {
      // A caller that has gone would keep the lock forever: it has no TTL.
      stop.throwIfAborted()
      return await conclude(opened, decided)
    } catch (error) {
      // A lock without a row would have no owner, and would be held forever.
      await hold?.letGo()
      throw error
    }
  }

  function decide({ row }: OpenRow, request: Ask): { answer: Answer; effects: Effects } {
    const effects = new Effects()
    const forever = { ...request, ttl: FOREVER_MS }
    return { answer: ask(row, forever, request.wake ? channel : null, clock.now(), effects), effects }
  }

  /** Saves what was decided, and tells those whom it concerns. */
  async function conclude(opened: OpenRow, { answer, effects }: ReturnType<typeof decide>): Promise<Answer> {
    if (!answer.granted && answer.place !== null) await showWaiters()
    await rows.save(opened)
    publish(effects)
    if (answer.granted) {
      const { lease, replaced } = answer
      const [known] = replaced ? shown([replaced]) : []
      return { granted: true, lease: timeless(lease), ...(known && { replaced: known }) }
    }
    if (answer.place !== null) for (const lease of opened.living.values()) ends.follow(lease)
    const retryIn = Math.min(answer.retryIn ?? Infinity, ASK_AGAIN_MS)
    return { ...answer, holders: shown(answer.holders), retryIn }
  }

  /** Before a waiter is in the row: those of a store that does not hold this lock are dropped. */
  async function showWaiters(): Promise<void> {
    waitersLock ??= native.waiters(channel)
    await waitersLock.catch((error) => {
      waitersLock = undefined
      throw error
    })
  }

  /** Under the gate. */
  async function releaseLease(by: ReleaseAsk): Promise<Released> {
    const opened = await rows.open(by.resource)
    const { row } = opened
    const effects = new Effects()
    // A lease that has ended holds no lock.
    const isKept = row.leases.some(({ token, keptUntil }) => 'token' in by && token === by.token && keptUntil)
    const { ended, holders } = release(row, by, clock.now(), effects)
    const evicted = isKept ? null : ended
    const hold = evicted && holds.byId.get(evicted.id)
    if (evicted && !hold && holders.length > 0) row.isEvicted = true
    await rows.save(opened)
    // First, so that those who follow its end know that it was told. Whoever asks now waits for the gate.
    publish(effects)
    if (hold) await hold.letGo()
    else if (evicted) await holds.evict(by.resource, [evicted], holders.length === 0)
    return { ended: ended && timeless(ended), holders: shown(holders) }
  }

  /** Whoever follows the end of the lease gives those who wait their turn. */
  function watchHolder(lease: NamedLease, isAwaited: () => boolean, signal: AbortSignal): void {
    const { resource, id } = lease
    const evict = (isSilent: () => Promise<boolean>) =>
      native.gated(resource, async () => {
        const opened = await rows.open(resource, true)
        if (!opened.living.has(id) || !(await isSilent())) return
        const isAlone = opened.living.size === 1
        if (!isAlone) opened.row.isEvicted = true
        await rows.save(opened)
        await holds.evict(resource, [lease], isAlone)
      })
    frozen.watch({ name: native.ownName(lease), isAwaited, evict }, signal)
  }

  /** Gives those who wait their turn, after a lease has ended without a release. */
  function settle(resource: string): Promise<void> {
    const work = async () => {
      const opened = await rows.open(resource)
      const effects = new Effects()
      const now = clock.now()
      expire(opened.row, now, effects, 0)
      await rows.save(opened)
      publish(effects)
      // If the lease that ended keeps the resource, they ask how long.
      if (opened.row.leases.some(({ expiresAt }) => expiresAt <= now))
        for (const waiter of listeners.waiting())
          if (waiter.resource === resource) listeners.wake(waiter.id, 0)
    }
    return calls.run(() => native.gated(resource, work))
  }

  /** Ends the leases of tabs that were closed, and deletes rows that nobody needs. Under the gate. */
  async function tidy(resource: string, limit: number): Promise<LeaseRecord[]> {
    const opened = await rows.open(resource)
    const effects = new Effects()
    const now = clock.now()
    const expired = expire(opened.row, now, effects, limit)
    if (isForgettable(opened.row, now)) await rows.remove(opened.row)
    else await rows.save(opened)
    publish(effects)
    return shown(expired)
  }

  async function readAll(resources: readonly string[]): Promise<LeaseRecord[][]> {
    const found = await rows.openSome(resources)
    const now = clock.now()
    return found.map((row) => shown(shownRecords(row, now)))
  }

  function publish({ changes, wakes }: Effects): void {
    push.publish({ changes: shown(changes), wakes })
  }
}

function shown(leases: readonly LeaseRecord[]): LeaseRecord[] {
  return leases.filter((lease) => !isStranger(lease)).map(timeless)
}

/** A Web Lock does not expire. Only what keeps a resource afterwards has a time. */
function timeless(lease: LeaseRecord): LeaseRecord {
  return lease.state === 'kept' ? lease : { ...lease, expiresAt: null, remaining: null }
}
