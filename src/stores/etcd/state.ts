/** What etcd knows of one resource, at one revision, and who may have it. */
import type { EtcdDatabase, EtcdEntry } from '../../clients/etcd.ts'
import type { Ask } from '../../core/index.ts'
import { decodeLease, decodeWaiter, type Stored, type StoredLease, type StoredWaiter } from './format.ts'
import type { Keys } from './keys.ts'

/** At most so many waiters have their turn at once. The next ones follow when these have asked. */
const FIRST_WAITERS = 64

export interface ResourceState {
  readonly resource: string
  readonly revision: number
  /** Oldest first. */
  readonly leases: readonly Stored<StoredLease>[]
  /** Leases that have expired and were not returned to anybody yet. Oldest first. */
  readonly expired: readonly Stored<StoredLease>[]
  /** Leases that have ended or will, and keep the resource then. */
  readonly kept: readonly Stored<StoredLease>[]
  /** The first waiters, in the order of the queue. */
  readonly queue: readonly Stored<StoredWaiter>[]
  readonly queueLength: number
  /** The place in the queue of the caller. */
  readonly own: EtcdEntry | undefined
}

/** One request. */
export async function lookAt(
  database: EtcdDatabase,
  keys: Keys,
  resource: string,
  id: string,
): Promise<ResourceState> {
  const { results, revision } = await database.transact(
    [],
    [
      { get: keys.of('l', resource) },
      { get: keys.of('e', resource) },
      { get: keys.of('k', resource) },
      { get: { ...keys.of('q', resource), byCreation: true, limit: FIRST_WAITERS } },
      { get: { key: keys.key('q', resource, id) } },
    ],
  )
  const [live = [], ended = [], kept = [], queue = [], [own] = []] = results.map(({ entries }) => entries)
  const leases = live.map(decodeLease).sort(byCreation)
  const liveIds = new Set(leases.map(({ value }) => value.id))
  return {
    resource,
    revision,
    leases,
    expired: ended
      .map(decodeLease)
      .filter(({ value }) => !liveIds.has(value.id))
      .sort((a, b) => a.entry.modified - b.entry.modified),
    kept: kept.map(decodeLease),
    queue: queue.map(decodeWaiter),
    queueLength: results[3]?.count ?? 0,
    own,
  }
}

/** The waiters that may have the resource together now, in the order of the queue. */
export function inTurn(state: ResourceState): Stored<StoredWaiter>[] {
  const room = roomOf(state)
  const first: Stored<StoredWaiter>[] = []
  for (const waiter of state.queue) {
    if (!room.fits(waiter.value.share)) break
    room.take(waiter.value.share)
    first.push(waiter)
  }
  return first
}

/** Whether the request may be granted in this state. */
export function mayHold(state: ResourceState, ask: Ask): boolean {
  if (replaces(state, ask)) return true
  if (state.queueLength === 0) return roomOf(state).fits(ask.share ?? null)
  return inTurn(state).some(({ value }) => value.id === ask.id)
}

/** Whether the request takes over what is live in this state. */
export function replaces({ leases, kept }: ResourceState, { replace }: Ask): boolean {
  if (replace === undefined) return false
  if (replace === 'any') return true
  const [lease] = leases
  const isOnly = leases.length === 1 && kept.every(({ value }) => value.id === lease?.value.id)
  return isOnly && lease?.entry.created === replace
}

/** Leases that have ended and still keep the resource. */
export function keptAfterEnd({ leases, kept }: ResourceState): Stored<StoredLease>[] {
  return kept.filter(({ value }) => leases.every((lease) => lease.value.id !== value.id))
}

/** How many leases there are, and how many each of them allows. An exclusive one allows one. */
function roomOf(state: ResourceState) {
  let taken = 0
  let limit = Infinity
  const room = {
    fits: (share: number | null) => taken < Math.min(limit, share ?? 1),
    take(share: number | null) {
      taken++
      limit = Math.min(limit, share ?? 1)
    },
  }
  const ended = new Map(keptAfterEnd(state).map(({ value }) => [value.id, value.share]))
  for (const { value } of state.leases) room.take(value.share)
  for (const share of ended.values()) room.take(share)
  return room
}

function byCreation(a: Stored<unknown>, b: Stored<unknown>): number {
  return a.entry.created - b.entry.created
}
