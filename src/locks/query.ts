import type { Stop } from '../base/abort.ts'
import type { answerWithin } from '../base/answer-within.ts'
import type { expectMethods } from '../base/arguments.ts'
import type { LeaseRecord, WaitingRecord } from '../core/index.ts'
import type { Context, Keeper } from '../core/manager.ts'
import { nameOf } from './long-names.ts'
import type { PREFIX, resourceOf } from './names.ts'
import { LEASES_PER_PAGE, WAITERS_PER_LOCK } from './options.ts'
import type { LockInfo, LockManagerSnapshot } from './types.ts'

/** What the query has from the lock manager. */
export interface QueryTools {
  readonly PREFIX: typeof PREFIX
  readonly answerWithin: typeof answerWithin
  readonly expectMethods: typeof expectMethods
  readonly resourceOf: typeof resourceOf
}

/** A request of this manager. */
export interface OwnRequest extends Pick<WaitingRecord, 'owner' | 'share'> {
  readonly name: string
  /** Absent: it was not sent yet. */
  id?: string
  isPending: boolean
  /** Of its lease, once it was granted. */
  keeper?: Keeper
}

/** `name`: `undefined` if only another client knows it. `own`: what this manager waited for at first, in order. */
interface NamedLock {
  readonly name: string | undefined
  readonly own: OwnRequest[]
}

/**
 * The state of all locks. The queues are read before the holders, so that a waiter that is granted meanwhile is found in
 * one of them. `own`: the requests of this manager. The store need not know of them yet, or keeps no queue.
 */
export async function query(
  tools: QueryTools,
  context: Context,
  stop: Stop,
  own: readonly OwnRequest[],
): Promise<Required<LockManagerSnapshot>> {
  const { PREFIX, answerWithin, resourceOf } = tools
  const { store, callTimeout } = context
  tools.expectMethods('store', store, 'a LeaseStore with the looking half', 'list', 'read')
  const answer = <T>(call: Promise<T> | undefined) => {
    const answered = answerWithin(call as Promise<T>, callTimeout, context, '', stop)
    // The store may not limit the next call.
    stop.limited = false
    return answered
  }

  const locks = new Map<string, NamedLock>()
  for (const request of own) {
    const { resource } = await resourceOf(request.name)
    const lock = locks.get(resource) ?? { name: request.name, own: [] }
    if (request.isPending) lock.own.push(request)
    locks.set(resource, lock)
  }
  let after: string | undefined
  do {
    const page = await answer(store.list?.({ prefix: PREFIX, limit: LEASES_PER_PAGE, after }, stop))
    for (const lease of page.leases)
      if (!locks.has(lease.resource)) locks.set(lease.resource, { name: nameOf(PREFIX, lease), own: [] })
    after = page.next
  } while (after)

  const resources = [...locks.keys()]
  const reading = store.waiting?.({ resources, limit: WAITERS_PER_LOCK }, stop)
  const queues = reading ? await answer(reading) : []
  const holders = await answer(store.read?.(resources, stop))
  const held = holders
    .flat()
    .filter(isHeld)
    .toSorted((a, b) => a.token - b.token)
    .map((lease) => infoOf(locks.get(lease.resource)?.name, lease))
  const pending: LockInfo[] = []
  for (const [index, { name, own }] of [...locks.values()].entries()) {
    const leases = holders[index] ?? []
    const seen = new Set<string | undefined>(leases.filter(isHeld).map(({ id }) => id))
    // Also one that has ended and keeps the lock: others wait for it.
    const shares = leases.map(({ share }) => share)
    let isBlocked = false
    // Those that were granted meanwhile come first, and those that have ended are left out.
    const granted = own.filter(({ keeper }) => keeper?.isHeld())
    const waiting = own.filter(({ isPending }) => isPending)
    for (const waiter of [...granted, ...(queues[index]?.first ?? []), ...waiting]) {
      if (waiter.id && seen.has(waiter.id)) continue
      seen.add(waiter.id)
      shares.push(waiter.share)
      // A waiter whose turn it is holds the lock, as in a browser, although it has yet to ask for it.
      isBlocked ||= shares.length > 1 && shares.includes(null)
      ;(isBlocked ? pending : held).push(infoOf(name, waiter))
    }
  }
  return { held, pending }
}

function isHeld({ state }: LeaseRecord): boolean {
  return state === 'held'
}

function infoOf(
  name: string | undefined,
  { owner, share }: Pick<WaitingRecord, 'owner' | 'share'>,
): LockInfo {
  return {
    ...(name !== undefined && { name }),
    mode: share === null ? 'exclusive' : 'shared',
    clientId: owner,
  }
}
