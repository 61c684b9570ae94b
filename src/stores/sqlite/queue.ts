/**
 * The queue of one resource, as far as a transition looks at it: the first waiters and the caller. So a transition
 * costs the same with ten and with ten thousand waiters. All of them are read only when some lose their places, or if
 * several of them may have their turn together.
 */

import { decodeShare, encodeShare } from '../../base/share.ts'
import { isGone } from '../local/process-node.ts'
import { EXACT_PLACES } from '../options.ts'
import { FIRST_WAITERS } from './options.ts'
import type { Queries } from './queries.ts'
import { decodeRow, type SqliteRow, type StoredRow, type StoredWaiter } from './rows.ts'

export interface LoadedRow {
  readonly row: SqliteRow
  /** Those that were read, by their ids. */
  readonly waiters: ReadonlyMap<string, StoredWaiter>
  /** How many waiters before the caller were not read. */
  readonly unread: number
}

/** `id`: the caller; `null`: none of the waiters. */
export function loadRow(queries: Queries, stored: StoredRow, id: string | null, now: number): LoadedRow {
  const row = decodeRow(stored, now)
  if (stored.line === null) return { row, waiters: new Map(), unread: 0 }
  const { resource, reserved, processes } = row
  const gone = goneChannels(row)
  const isLapsed = [...reserved.values()].some(({ until }) => until <= now)
  const isWhole = gone.size > 0 || isLapsed || row.isShared
  const { waiters, unread } = isWhole
    ? { waiters: queries.waiters(resource), unread: 0 }
    : readPart(queries, resource, id)
  const live = waiters.filter(({ channel }) => !gone.has(channel))
  row.queue = new Map(
    live.map(({ share, ...waiter }) => [waiter.id, { ...waiter, share: decodeShare(share) }]),
  )
  if (isWhole) {
    const channels = new Set(live.map(({ channel }) => channel))
    for (const channel of processes.keys()) if (!channels.has(channel)) processes.delete(channel)
    for (const id of reserved.keys()) if (!row.queue.has(id)) reserved.delete(id)
    row.isShared = live.some(({ share }) => share !== null)
  }
  return { row, waiters: new Map(waiters.map((waiter) => [waiter.id, waiter])), unread }
}

/** Without those whose processes are gone. */
export function liveWaiters(queries: Queries, row: SqliteRow): StoredWaiter[] {
  const gone = goneChannels(row)
  return queries.waiters(row.resource).filter(({ channel }) => !gone.has(channel))
}

/** Whether the transition has changed the queue. */
export function isQueueChanged({ row, waiters }: LoadedRow): boolean {
  if (row.queue.size !== waiters.size) return true
  return [...row.queue.values()].some(({ id, channel }) => waiters.get(id)?.channel !== channel)
}

export function saveQueue(queries: Queries, { row, waiters }: LoadedRow): void {
  const { resource, queue } = row
  for (const { id, place } of waiters.values()) if (!queue.has(id)) queries.leave(resource, place)
  // If nobody waited, the table may only have rows that somebody forgot to delete.
  if (waiters.size === 0) queries.removeWaiters(resource)
  for (const { id, channel, owner = '', share } of queue.values()) {
    const stored = waiters.get(id)
    if (!stored) {
      const place = queries.lastPlace(resource) + 1
      queries.join(resource, { place, id, channel, owner, share: encodeShare(share) })
    } else if (stored.channel !== channel) queries.move(resource, stored.place, channel)
  }
}

function goneChannels({ processes }: SqliteRow): Set<string> {
  return new Set([...processes].filter(([, process]) => isGone(process)).map(([channel]) => channel))
}

function readPart(queries: Queries, resource: string, id: string | null) {
  const first = queries.firstWaiters(resource, FIRST_WAITERS)
  const last = first.at(-1)
  if (!last || first.length < FIRST_WAITERS || first.some((waiter) => waiter.id === id))
    return { waiters: first, unread: 0 }
  const own = id === null ? undefined : queries.waiter(resource, id)
  const end = own?.place ?? queries.lastPlace(resource) + 1
  const distance = end - last.place - 1
  const unread = distance > EXACT_PLACES ? distance : queries.countBetween(resource, last.place, end)
  return { waiters: own ? [...first, own] : first, unread }
}
