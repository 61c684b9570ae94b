import type { Stop } from '../../base/abort.ts'
import { expectMethods, expectOptions, expectText } from '../../base/arguments.ts'
import { type Clock, expectClock, systemClock } from '../../base/clock.ts'
import { randomId } from '../../base/random-id.ts'
import type { LeaseRecord } from '../../base/records.ts'
import { browserError } from '../../clients/browser-errors.ts'
import type { Answer, Ask, LeaseStore } from '../../core/index.ts'
import { type Hold, tabLocks, type WebLocks } from '../browser/index.ts'
import { mayBeListed, pageOf } from '../lease-page.ts'
import { isTokenOld, nextToken } from '../lease-row.ts'
import { Calls } from '../local/calls.ts'
import { LocalListeners } from '../local/listeners.ts'
import { tabPush } from './push.ts'
import { indexedDbRecords, type StoredRecord } from './records.ts'
import { waiterLocks } from './waiter-locks.ts'

/** A waiter is woken when its turn comes. In case that fails, it asks again after this long. */
const ASK_AGAIN_MS = 5000
/** The record of the token floor: no resource has an empty name. */
const FLOOR = ''

export interface WebLockStoreOptions {
  /** Before the names of locks; also the name of the database and of the channel. Default `holdfast:`. */
  readonly prefix?: string
  /** Default: `navigator.locks`. */
  readonly locks?: WebLocks
  /** Default: the system's. */
  readonly clock?: Clock
}

/**
 * Leases on Web Locks: the browser keeps the queue of waiters, and frees the locks of a tab that is closed. The holder
 * and the token are kept in IndexedDB. The record of a resource is changed only under its gate, a second Web Lock.
 *
 * @example
 * const leases = createLeases(webLockStore())
 */
export function webLockStore(options: WebLockStoreOptions = {}): LeaseStore {
  expectOptions(options, { prefix: 1, locks: 1, clock: 1 })
  const { prefix = 'holdfast:', locks = navigator.locks, clock = systemClock } = options
  expectText('prefix', prefix)
  expectMethods('locks', locks, 'Web Locks, which need HTTPS or localhost', 'request', 'query')
  expectClock('clock', clock)
  const calls = new Calls({ backend: 'Web Locks', explain: browserError, clock })
  const ownLocks = tabLocks(() => locks, prefix, clock)
  const records = indexedDbRecords(prefix)
  const listeners = new LocalListeners(clock)
  const push = tabPush(prefix, listeners)
  /** The locks whose records were written. */
  const granted = new WeakSet<Hold>()
  /** By the id of a waiter: how many were ahead of it when it last asked. */
  const places = new Map<string, number>()
  const waiters = waiterLocks(locks, prefix, clock)

  return {
    kind: 'web-locks',
    supports: { queue: true, push: true, expiry: false, list: true, share: false },

    acquire: (ask, call) =>
      calls.run(
        async (stop) => {
          if (ask.replace !== undefined) return (await takeOver(ask, stop)) ?? refusal(ask)
          const wasQueued = ownLocks.holds.has(ask.id)
          const hold = await ownLocks.ask(ask)
          if (!hold) {
            if (!wasQueued && ownLocks.holds.has(ask.id)) await waiters.join(ask)
            return refusal(ask)
          }
          const granting = gated(ask.resource, async (found) => {
            // A caller that has gone would keep the lock forever: it has no TTL.
            stop.throwIfAborted()
            return grant(ask, hold, found)
          })
          return (await orLetGo(hold, granting)) ?? refusal(ask)
        },
        call,
        ask.resource,
      ),

    renew: ({ resource, id }, call) =>
      calls.run(
        async () => {
          const holder = await read(resource)
          if (holder?.id !== id) return { ok: false, holders: holder ? [holder] : [] }
          push.publish({ changes: [holder] })
          return { ok: true, lease: holder }
        },
        call,
        resource,
      ),

    release: (by, call) =>
      calls.run(
        async () => {
          const hold = 'id' in by ? ownLocks.holds.get(by.id) : undefined
          const isOurs = hold?.phase === 'held'
          if ('id' in by) leaveQueue(by.id)
          try {
            return await gated(by.resource, async (found) => {
              const holder = found && isOurs ? describe(found) : await liveLease(found)
              const isMeant = 'id' in by ? holder?.id === by.id : holder?.token === by.token
              if (!found || !holder || !isMeant) return { ended: null, holders: holder ? [holder] : [] }
              const ended = await end(found, 'released')
              // Before the others are told, because they ask at once.
              if (isOurs) await hold?.letGo()
              else await evict(by.resource)
              push.publish({ changes: [ended] })
              return { ended, holders: [] }
            })
          } finally {
            // Also if the record could not be written: a record counts only while its lock is held.
            await hold?.letGo()
          }
        },
        call,
        by.resource,
      ),

    read: (resources, call) =>
      calls.run(async () => {
        const found = await live(await Promise.all(resources.map((resource) => records.get(resource))))
        return found.map((lease) => (lease ? [lease] : []))
      }, call),

    waiting: (query, call) => calls.run(() => waiters.waiting(query), call),

    list: (query, call) =>
      calls.run(async () => {
        const found = (await records.all()).filter(({ resource }) => mayBeListed(resource, query))
        return pageOf(
          (await live(found)).filter((lease) => lease !== null),
          query,
        )
      }, call),

    sweep: ({ limit }, call) =>
      calls.scan(async (stop) => {
        const swept: LeaseRecord[] = []
        for (const { resource } of await records.all()) {
          if (swept.length >= limit || stop.reason) break
          const dead = resource !== FLOOR && (await gated(resource, tidy))
          if (dead) swept.push(dead)
        }
        return swept
      }, call),

    watch: (on, { prefix: watched } = {}) => calls.run(() => listeners.watch(on, watched)),

    /** Also ends the locks that are held or waited for: a Web Lock has no TTL, so they would never end. */
    close,
    [Symbol.asyncDispose]: close,
  }

  async function close(): Promise<void> {
    const closing = calls.close()
    for (const hold of [...ownLocks.holds.values()]) hold.letGo()
    waiters.close()
    push.close()
    listeners.clear()
    await closing
    records.close()
  }

  /** Runs the work while nobody else can change the record of the resource. */
  function gated<T>(resource: string, work: (found: StoredRecord | null) => Promise<T>): Promise<T> {
    const change = async () => work(await records.get(resource))
    // The name of a resource has no control characters, so no lock has the name of a gate.
    return locks.request(`${prefix}\u0001${resource}`, {}, change) as Promise<T>
  }

  /** A lock without a record would have no owner, and would be held forever. */
  function orLetGo<T>(hold: Hold, recorded: Promise<T>): Promise<T> {
    return recorded.catch(async (error) => {
      if (!granted.has(hold)) await hold.letGo()
      throw error
    })
  }

  /** Under the gate, while the lock is held. `null`: it was stolen before its record was written. */
  async function grant(ask: Ask, hold: Hold, found: StoredRecord | null): Promise<Answer | null> {
    if (hold.phase !== 'held') return null
    if (found?.lease?.id === ask.id) return { granted: true, lease: describe(found) }
    const previous = found?.token ?? (await records.get(FLOOR))?.token ?? 0
    const { resource, id, owner, metadata = null } = ask
    const now = clock.now()
    const record: StoredRecord = {
      resource,
      token: nextToken(previous, now),
      lease: { id, owner, metadata, acquiredAt: now },
      endedAt: now,
    }
    await records.put(record)
    if (hold.phase !== 'held') return null
    hold.onStolen = () => ask.lost?.()
    granted.add(hold)
    leaveQueue(id)
    const lease = describe(record)
    if (!found?.lease) {
      push.publish({ changes: [lease] })
      return { granted: true, lease }
    }
    const replaced = describe(found, ask.replace === found.token ? 'taken-over' : 'expired')
    push.publish({ changes: [replaced, lease] })
    return { granted: true, lease, replaced }
  }

  function leaveQueue(id: string): void {
    places.delete(id)
    waiters.leave(id)
  }

  async function refusal(ask: Ask): Promise<Answer> {
    const holder = await read(ask.resource)
    // Granted to the same id through another store.
    if (holder?.id === ask.id) return { granted: true, lease: holder }
    const place = ownLocks.holds.has(ask.id) ? await countAhead(ask) : null
    return { granted: false, holders: holder ? [holder] : [], place, retryIn: ASK_AGAIN_MS }
  }

  /** Never higher than before: those who have come since are behind it. */
  async function countAhead({ resource, id }: Ask): Promise<number> {
    const { pending = [] } = await locks.query()
    const waiting = pending.filter(({ name }) => name === prefix + resource).length
    const place = Math.min(places.get(id) ?? Infinity, Math.max(0, waiting - 1))
    places.set(id, place)
    return place
  }

  function takeOver(ask: Ask, stop: Stop): Promise<Answer | null> {
    return gated(ask.resource, async (found) => {
      stop.throwIfAborted()
      const holder = await liveLease(found)
      if (holder?.token !== ask.replace) return null
      const hold = await ownLocks.take(ask.id, ask.resource, { steal: true })
      return hold && orLetGo(hold, grant(ask, hold, found))
    })
  }

  /** Under the gate: a waiter that gets the lock meanwhile has no record yet, so it is refused and waits again. */
  async function evict(resource: string): Promise<void> {
    const hold = await ownLocks.take(randomId(), resource, { steal: true })
    await hold?.letGo()
  }

  async function end(found: StoredRecord, state: LeaseRecord['state']): Promise<LeaseRecord> {
    await records.put({ ...found, lease: null, endedAt: clock.now() })
    return describe(found, state)
  }

  /** Ends the lease of a tab that was closed, and deletes records that nobody needs. */
  async function tidy(found: StoredRecord | null): Promise<LeaseRecord | null> {
    if (found?.lease) {
      if (await liveLease(found)) return null
      const ended = await end(found, 'expired')
      push.publish({ changes: [ended] })
      return ended
    }
    if (found && isTokenOld(found, clock.now())) {
      await gated(FLOOR, async (floor) => {
        await records.put({ ...found, resource: FLOOR, token: Math.max(found.token, floor?.token ?? 0) })
      })
      await records.remove(found.resource)
    }
    return null
  }

  async function read(resource: string): Promise<LeaseRecord | null> {
    return liveLease(await records.get(resource))
  }

  async function liveLease(found: StoredRecord | null): Promise<LeaseRecord | null> {
    const [lease = null] = await live([found])
    return lease
  }

  /** The leases whose locks are held. The record of a closed tab stays behind. */
  async function live(found: readonly (StoredRecord | null)[]): Promise<(LeaseRecord | null)[]> {
    const { held = [] } = found.some((record) => record?.lease) ? await locks.query() : {}
    const names = new Set(held.map(({ name }) => name))
    return found.map((record) =>
      record?.lease && names.has(prefix + record.resource) ? describe(record) : null,
    )
  }
}

function describe(
  { resource, token, lease }: StoredRecord,
  state: LeaseRecord['state'] = 'held',
): LeaseRecord {
  const { id = '', owner = '', metadata = null, acquiredAt = 0 } = lease ?? {}
  return {
    resource,
    id,
    owner,
    token,
    metadata,
    share: null,
    acquiredAt,
    expiresAt: null,
    remaining: null,
    state,
  }
}
