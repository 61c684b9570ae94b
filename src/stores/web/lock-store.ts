import {
  type Answer,
  type Ask,
  type Clock,
  type LeaseRecord,
  type LeaseStore,
  systemClock,
} from '../../core/index.ts'
import { type Hold, lockDesk, type WebLocks } from '../browser/index.ts'
import { createCalls } from './calls.ts'
import { broadcastNews } from './news.ts'
import { indexedDbRecords, type StoredRecord } from './records.ts'

/** How long the record of a free resource is kept, so that its token outlives a clock that steps back. */
const KEEP_FREE_MS = 3_600_000
/** A waiter is told when its turn comes; it asks again after this long all the same. */
const ASK_AGAIN_MS = 5000
/** No resource has this name. Its record is the floor under which no token is given again. */
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
 * Leases on Web Locks: the browser keeps the line of waiters, and frees what a tab held when that tab goes. Who holds
 * a lock, and its token, are kept in IndexedDB. A record changes only under its gate, which is another Web Lock.
 *
 * @example
 * const leases = createLeases(webLockStore())
 */
export function webLockStore(options: WebLockStoreOptions = {}): LeaseStore {
  const { prefix = 'holdfast:', locks = navigator.locks, clock = systemClock } = options
  const calls = createCalls('web-locks')
  const desk = lockDesk(() => locks, prefix, clock)
  const records = indexedDbRecords(prefix)
  const news = broadcastNews(prefix)
  /** Those whose records were written. */
  const granted = new WeakSet<Hold>()
  /** How many stood before each waiter when it last asked. */
  const places = new Map<string, number>()

  return {
    kind: 'web-locks',
    supports: { queue: true, push: true, expiry: false, list: true },

    acquire: (ask, call) =>
      calls.run(async () => {
        if (ask.replace !== undefined) return (await takeOver(ask)) ?? refusal(ask)
        const hold = await desk.ask(ask)
        const answer =
          hold &&
          (await orLetGo(
            hold,
            gated(ask.resource, (found) => grant(ask, hold, found)),
          ))
        return answer ?? refusal(ask)
      }, call),

    renew: ({ resource, id }, call) =>
      calls.run(async () => {
        const holder = await read(resource)
        if (holder?.id !== id) return { ok: false, holder }
        news.publish({ changes: [holder] })
        return { ok: true, lease: holder }
      }, call),

    release: (by, call) =>
      calls.run(async () => {
        const hold = 'id' in by ? desk.holds.get(by.id) : undefined
        const isOurs = hold?.phase === 'held'
        if ('id' in by) places.delete(by.id)
        try {
          return await gated(by.resource, async (found) => {
            const holder = found && isOurs ? describe(found) : await liveLease(found)
            const isMeant = 'id' in by ? holder?.id === by.id : holder?.token === by.token
            if (!found || !holder || !isMeant) return { ended: null, holder }
            const ended = await end(found, 'released')
            // Before others hear of it: they ask at once.
            if (isOurs) await hold?.letGo()
            else await evict(by.resource)
            news.publish({ changes: [ended] })
            return { ended, holder: null }
          })
        } finally {
          // Also when its record could not be written: without the lock nobody believes the record.
          await hold?.letGo()
        }
      }, call),

    read: (resources, call) =>
      calls.run(
        async () => live(await Promise.all(resources.map((resource) => records.get(resource)))),
        call,
      ),

    list: ({ prefix: wanted = '', limit, after = '' }, call) =>
      calls.run(async () => {
        const found = (await records.all()).filter(
          ({ resource }) => resource.startsWith(wanted) && resource > after,
        )
        const leases = (await live(found))
          .filter((lease) => lease !== null)
          .sort((a, b) => (a.resource < b.resource ? -1 : 1))
        const page = leases.slice(0, limit)
        const last = page.at(-1)
        return { leases: page, ...(last && leases.length > limit && { next: last.resource }) }
      }, call),

    sweep: ({ limit }, call) =>
      calls.run(async () => {
        const swept: LeaseRecord[] = []
        for (const { resource } of await records.all()) {
          if (swept.length >= limit) break
          const dead = resource !== FLOOR && (await gated(resource, tidy))
          if (dead) swept.push(dead)
        }
        return swept
      }, call),

    watch: (on, { prefix: wanted = '' } = {}) => calls.run(async () => news.watch(on, wanted)),

    /** A Web Lock has no TTL: what is still held or waited for would never end. */
    async close() {
      calls.close()
      for (const hold of [...desk.holds.values()]) hold.letGo()
      records.close()
      news.close()
    },
  }

  /** Nobody else changes the record of the resource meanwhile. */
  function gated<T>(resource: string, work: (found: StoredRecord | null) => Promise<T>): Promise<T> {
    const change = async () => work(await records.get(resource))
    // The name of a resource has no control characters, so that no lock has the name of a gate.
    return locks.request(`${prefix}\u0001${resource}`, {}, change) as Promise<T>
  }

  /** A lock without a record would be held by nobody, and for ever. */
  function orLetGo<T>(hold: Hold, recorded: Promise<T>): Promise<T> {
    return recorded.catch(async (error) => {
      if (!granted.has(hold)) await hold.letGo()
      throw error
    })
  }

  /** Under the gate, with the lock in hand. `null`: it was stolen before its record was written. */
  async function grant(ask: Ask, hold: Hold, found: StoredRecord | null): Promise<Answer | null> {
    if (hold.phase !== 'held') return null
    if (found?.lease?.id === ask.id) return { granted: true, lease: describe(found) }
    const previous = found?.token ?? (await records.get(FLOOR))?.token ?? 0
    const { resource, id, owner, metadata = null } = ask
    const now = clock.now()
    const record: StoredRecord = {
      resource,
      token: Math.max(previous + 1, Math.floor(now * 1000)),
      lease: { id, owner, metadata, acquiredAt: now },
      endedAt: now,
    }
    await records.put(record)
    if (hold.phase !== 'held') return null
    hold.onStolen = () => ask.lost?.()
    granted.add(hold)
    places.delete(id)
    const lease = describe(record)
    if (!found?.lease) {
      news.publish({ changes: [lease] })
      return { granted: true, lease }
    }
    const replaced = describe(found, ask.replace === found.token ? 'taken-over' : 'expired')
    news.publish({ changes: [replaced, lease] })
    return { granted: true, lease, replaced }
  }

  async function refusal(ask: Ask): Promise<Answer> {
    const holder = await read(ask.resource)
    // Granted to the same id through another store.
    if (holder?.id === ask.id) return { granted: true, lease: holder }
    const place = desk.holds.has(ask.id) ? await countAhead(ask) : null
    return { granted: false, holder, place, retryIn: ASK_AGAIN_MS }
  }

  /** Others can only have come after us since we last looked. */
  async function countAhead({ resource, id }: Ask): Promise<number> {
    const { pending = [] } = await locks.query()
    const waiting = pending.filter(({ name }) => name === prefix + resource).length
    const place = Math.min(places.get(id) ?? Infinity, Math.max(0, waiting - 1))
    places.set(id, place)
    return place
  }

  function takeOver(ask: Ask): Promise<Answer | null> {
    return gated(ask.resource, async (found) => {
      const holder = await liveLease(found)
      if (holder?.token !== ask.replace) return null
      const hold = await desk.take(ask.id, ask.resource, { steal: true })
      return hold && orLetGo(hold, grant(ask, hold, found))
    })
  }

  /** Under the gate, so that whoever takes the lock in between has not been granted it: it stands in line again. */
  async function evict(resource: string): Promise<void> {
    const hold = await desk.take(crypto.randomUUID(), resource, { steal: true })
    await hold?.letGo()
  }

  async function end(found: StoredRecord, state: LeaseRecord['state']): Promise<LeaseRecord> {
    await records.put({ ...found, lease: null, endedAt: clock.now() })
    return describe(found, state)
  }

  /** Ends the lease of a tab that died, and forgets what nobody needs. */
  async function tidy(found: StoredRecord | null): Promise<LeaseRecord | null> {
    if (found?.lease) {
      if (await liveLease(found)) return null
      const ended = await end(found, 'expired')
      news.publish({ changes: [ended] })
      return ended
    }
    if (found && Math.max(found.endedAt, found.token / 1000) + KEEP_FREE_MS <= clock.now()) {
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

  /** Those whose locks are held: a tab that died has left its record behind. */
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
  return { resource, id, owner, token, metadata, acquiredAt, expiresAt: null, remaining: null, state }
}
