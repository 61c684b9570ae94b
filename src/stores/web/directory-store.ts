import { type CallOptions, type Clock, type LeaseStore, systemClock } from '../../core/index.ts'
import { AGAIN, type Decide, type DirectorySource, gatedFile } from '../browser/index.ts'
import { ask, Effects, expire, isForgettable, liveRecord, newRow, release, renew } from '../lease-row.ts'
import { createCalls } from './calls.ts'
import { broadcastNews } from './news.ts'
import { decodeRows, encodeRows, isUndated, type Table } from './row-file.ts'

export interface DirectoryStoreOptions {
  /** The file in the directory, and the channel by which its tabs wake each other. Default `holdfast.json`. */
  readonly file?: string
  /** The clock that all tabs share. Default: the system's. */
  readonly clock?: Clock
}

/**
 * Leases in one file of a directory: the origin's own (OPFS), or one that the user picked. For where there are no
 * Web Locks, and for leases that are to outlive the tab. A page of another browser does not see them.
 *
 * @example
 * const leases = createLeases(directoryStore(() => navigator.storage.getDirectory()))
 */
export function directoryStore(directory: DirectorySource, options: DirectoryStoreOptions = {}): LeaseStore {
  const { file: name = 'holdfast.json', clock = systemClock } = options
  const calls = createCalls('directory')
  const file = gatedFile(directory, name, clock)
  /** Names this store in the line: when one of its waiters misses its turn, all of them ask again. */
  const channel = crypto.randomUUID()
  const wakers = new Map<string, (inMs: number) => void>()
  const losers = new Map<string, () => void>()
  const news = broadcastNews(`holdfast:${name}`, ({ wakes, changes }) => {
    for (const [id, inMs] of wakes ?? []) wakers.get(id)?.(inMs)
    for (const { id, state } of changes) if (state !== 'held') lose(id)
  })

  return {
    kind: 'directory',
    supports: { queue: true, push: true, expiry: true, list: true },

    acquire: (request, call) =>
      calls.run(async () => {
        const { id, wake, lost } = request
        // Before we ask: another tab may call or end us before we have the answer.
        if (wake) wakers.set(id, wake)
        if (lost) losers.set(id, lost)
        const answer = await transact((table, now, effects) => {
          const row = table.rows.get(request.resource) ?? newRow(request.resource, table.floor)
          table.rows.set(request.resource, row)
          return ask(row, request, wake ? channel : null, now, effects)
        }, true)
        if (answer.granted) wakers.delete(id)
        else losers.delete(id)
        return answer
      }, call),

    renew: ({ resource, id, ttl }, call) =>
      calls.run(
        () =>
          transact((table, now, effects) => {
            const row = table.rows.get(resource)
            return row ? renew(row, id, ttl, now, effects) : { ok: false, holder: null }
          }),
        call,
      ),

    release: (by, call) =>
      calls.run(() => {
        if ('id' in by) {
          wakers.delete(by.id)
          losers.delete(by.id)
        }
        return transact((table, now, effects) => {
          const row = table.rows.get(by.resource)
          return row ? release(row, by, now, effects) : { ended: null, holder: null }
        })
      }, call),

    read: (resources, call) =>
      look(call, ({ rows }, now) =>
        resources.map((resource) => {
          const row = rows.get(resource)
          return row ? liveRecord(row, now) : null
        }),
      ),

    list: ({ prefix = '', limit, after = '' }, call) =>
      look(call, ({ rows }, now) => {
        const live = [...rows.values()]
          .filter(({ resource }) => resource.startsWith(prefix) && resource > after)
          .map((row) => liveRecord(row, now))
          .filter((lease) => lease !== null)
          .sort((a, b) => (a.resource < b.resource ? -1 : 1))
        const leases = live.slice(0, limit)
        return { leases, ...(live.length > limit && { next: leases.at(-1)?.resource ?? '' }) }
      }),

    sweep: ({ limit }, call) =>
      calls.run(
        () =>
          transact((table, now, effects) => {
            const due = [...table.rows.values()].filter((row) => row.lease && !liveRecord(row, now))
            const swept = due.slice(0, limit).map((row) => expire(row, now, effects))
            forget(table, now)
            return swept.filter((lease) => lease !== null)
          }),
        call,
      ),

    watch: (on, { prefix = '' } = {}) => calls.run(async () => news.watch(on, prefix)),

    async close() {
      calls.close()
      news.close()
      wakers.clear()
      losers.clear()
    },
  }

  async function transact<T>(
    step: (table: Table, now: number, effects: Effects) => T,
    create = false,
  ): Promise<T> {
    let effects = new Effects()
    const decide: Decide<T> = (content) => {
      effects = new Effects()
      const now = clock.now()
      // The same text again: by that it has a date.
      if (content && isUndated(content, now)) return { result: AGAIN, text: content.text }
      const table = decodeRows(content, now)
      const outcome = step(table, now, effects)
      if (create) forget(table, now)
      const text = encodeRows(table)
      return { result: outcome, ...(text !== content?.text && { text }) }
    }
    const result = await file.change(decide, create)
    news.publish(effects)
    return result
  }

  function look<T>(call: CallOptions | undefined, at: (table: Table, now: number) => T): Promise<T> {
    return calls.run(async () => {
      const content = await file.read()
      const now = clock.now()
      return at(decodeRows(content, now), now)
    }, call)
  }

  function lose(id: string): void {
    losers.get(id)?.()
    losers.delete(id)
  }
}

function forget(table: Table, now: number): void {
  for (const row of table.rows.values()) {
    if (!isForgettable(row, now)) continue
    table.floor = Math.max(table.floor, row.token)
    table.rows.delete(row.resource)
  }
}
