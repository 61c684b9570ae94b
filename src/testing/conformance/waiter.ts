import type { Ask, LeaseRecord, LeaseStore } from '../../core/index.ts'
import { LONG_MS } from '../options.ts'
import { asking, eventually, granted, type StoreUnderTest } from './case.ts'
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
  check(!answer.granted, `a waiter for ${resource} is refused, got a grant to ${ask.owner}`)
  checkEqual(answer.place, place, `the place of ${ask.owner} in the queue`)
  return { store, ask, wakes }
}

export function woken(under: StoreUnderTest, { ask, wakes }: Waiter): Promise<void> {
  return eventually(under, `wake(0) is called for ${ask.owner}, which is next`, () => wakes.includes(0))
}

export function checkAsleep({ ask, wakes }: Waiter, why: string): void {
  check(!wakes.includes(0), `wake(0) is not called for ${ask.owner}: ${why}`)
}

/** Repeats the request of a waiter whose turn it is. */
export async function served({ store, ask }: Waiter): Promise<LeaseRecord> {
  return granted(await store.acquire(ask), `${ask.owner}, whose turn it is`).lease
}

/** Repeats the request of a waiter whose turn it is not. */
export async function waits({ store, ask }: Waiter, place: number, more: Partial<Ask> = {}): Promise<void> {
  const answer = await store.acquire({ ...ask, ...more })
  check(!answer.granted, `${ask.owner} still waits, got a grant`)
  checkEqual(answer.place, place, `the place of ${ask.owner}, which asks again`)
  check((answer.retryIn ?? 0) > 0, `${ask.owner} is told when to ask again, got ${answer.retryIn}`)
}
