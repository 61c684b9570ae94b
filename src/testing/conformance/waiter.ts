import type { Ask, LeaseStore } from '../../core/index.ts'
import { asking, eventually, LONG_MS, type StoreUnderTest } from './case.ts'
import { check, checkEqual } from './check.ts'

/** A request in the queue of a store, and when it was told to ask again, in milliseconds from then. */
export interface Waiter {
  readonly store: LeaseStore
  readonly ask: Ask
  readonly wakes: number[]
}

export async function queued(
  store: LeaseStore,
  resource: string,
  place: number,
  more: Partial<Ask> = {},
): Promise<Waiter> {
  const wakes: number[] = []
  const ask = asking(resource, { ttl: LONG_MS, wake: (inMs) => wakes.push(inMs), ...more })
  const answer = await store.acquire(ask)
  check(!answer.granted, 'the waiter is refused')
  checkEqual(answer.place, place, 'the place in the queue')
  return { store, ask, wakes }
}

export function woken(under: StoreUnderTest, waiter: Waiter): Promise<void> {
  return eventually(under, 'the waiter is woken', () => waiter.wakes.includes(0))
}
