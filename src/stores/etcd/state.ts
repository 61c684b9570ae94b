/** What etcd has of one resource, at one revision, and who may have it. */
import type { EtcdAnswer, EtcdEntry, EtcdOperation } from '../../clients/etcd.ts'
import type { Ask } from '../../core/index.ts'
import { Room } from '../row-queue.ts'
import { type KeptLease, keptAfterEnd } from './kept.ts'
import type { KeyKind, Keys } from './names.ts'
import { FIRST_WAITERS } from './options.ts'
import { decodeLease, decodeWaiter, type Stored, type StoredLease, type StoredWaiter } from './rows.ts'

/** The keys of a resource. */
export interface Found {
  readonly resource: string
  readonly revision: number
  /** Of the queue, the first waiters in order; none if they were not asked for. */
  readonly entries: Readonly<Record<KeyKind, readonly EtcdEntry[]>>
  readonly queueLength: number
  /** The place in the queue of the caller. */
  readonly own: EtcdEntry | undefined
}

/** The same, as leases and waiters. */
export interface ResourceState extends Found {
  /** Oldest first. */
  readonly leases: readonly Stored<StoredLease>[]
  /** Leases that have expired and were not returned to anybody yet. Oldest first. */
  readonly expired: readonly Stored<StoredLease>[]
  /** Leases that have ended or will, and keep the resource then. */
  readonly kept: readonly Stored<StoredLease>[]
  readonly queue: readonly Stored<StoredWaiter>[]
}

/** Reads a resource. `withQueue`: also its first waiters, which etcd sorts: that takes as long as the queue is. */
export function lookOperations(
  keys: Keys,
  resource: string,
  id: string,
  withQueue: boolean,
): EtcdOperation[] {
  const queue = withQueue ? { byCreation: true, limit: FIRST_WAITERS } : { keysOnly: true, limit: 1 }
  return [
    { get: keys.of('l', resource) },
    { get: keys.of('e', resource) },
    { get: keys.of('k', resource) },
    { get: { ...keys.of('q', resource), ...queue } },
    { get: { key: keys.key('q', resource, id) } },
  ]
}

/** The answer to `lookOperations`. */
export function foundIn(resource: string, { results, revision }: EtcdAnswer, withQueue: boolean): Found {
  const [l = [], e = [], k = [], first = [], [own] = []] = results.map(({ entries }) => entries)
  const entries = { l, e, k, q: withQueue ? first : [] }
  return { resource, revision, entries, queueLength: results[3]?.count ?? 0, own }
}

/** A resource of which nothing is known. What is granted in this state fails if there is anything. */
export function unseen(resource: string): ResourceState {
  const found = { resource, revision: 0, entries: { l: [], e: [], k: [], q: [] }, queueLength: 0 }
  return stateOf({ ...found, own: undefined })
}

/** Throws if a value is not ours. */
export function stateOf(found: Found): ResourceState {
  const { l, e, k, q } = found.entries
  const leases = l.map(decodeLease).sort((a, b) => a.entry.created - b.entry.created)
  const live = new Set(leases.map(({ value }) => value.id))
  const expired = e.map(decodeLease).filter(({ value }) => !live.has(value.id))
  return {
    ...found,
    leases,
    expired: expired.sort((a, b) => a.entry.modified - b.entry.modified),
    kept: k.map(decodeLease),
    queue: q.map(decodeWaiter),
  }
}

/** Whether waiters have to be known, and are not. */
export function isQueueMissing({ queue, queueLength }: ResourceState): boolean {
  return queueLength > 0 && queue.length === 0
}

/** Whether another lease may be possible. */
export function hasRoom(state: ResourceState): boolean {
  return roomOf(state).fits(Infinity)
}

/** The waiters that may have the resource together now, in the order of the queue. */
export function inTurn(state: ResourceState): Stored<StoredWaiter>[] {
  const room = roomOf(state)
  const end = state.queue.findIndex(({ value: { share } }) => {
    if (!room.fits(share)) return true
    room.take(share)
    return false
  })
  return state.queue.slice(0, end < 0 ? undefined : end)
}

/** Whether the request may be granted in this state. */
export function mayHold(state: ResourceState, ask: Ask): boolean {
  if (replaces(state, ask)) return true
  if (state.queueLength === 0) return roomOf(state).fits(ask.share ?? null)
  return inTurn(state).some(({ value }) => value.id === ask.id)
}

/** Whether the request takes over what is live in this state. */
export function replaces(state: ResourceState, { replace }: Ask): boolean {
  if (replace === undefined) return false
  if (replace === 'any') return true
  const [lease, ...others] = state.leases
  return others.length === 0 && keptIn(state).length === 0 && lease?.entry.created === replace
}

/** Leases that have ended and still keep the resource. */
export function keptIn({ leases, kept }: ResourceState): KeptLease[] {
  return keptAfterEnd(leases, kept)
}

function roomOf(state: ResourceState): Room {
  const ended = keptIn(state).map(({ lease }) => lease)
  return new Room([...state.leases, ...ended].map(({ value }) => value.share))
}
