import type { Answer, Ask, Grant, LeaseRecord, LeaseStore, StoreSupport } from '../../core/index.ts'
import { check } from './check.ts'

export interface StoreUnderTest {
  readonly store: LeaseStore
  readonly peer: LeaseStore
  readonly supports: StoreSupport
  readonly ttl: number
  readonly contention: number
  pass(ms: number): Promise<void>
  stepClock(ms: number): void
  reopen(): Promise<LeaseStore>
  outage(): Promise<() => Promise<void>>
  interruptWatch(): Promise<void>
}

type Need = keyof StoreSupport | 'stepClock' | 'reopen' | 'outage' | 'interruptWatch'

export interface Case {
  readonly title: string
  /** What the store must support, or the harness offer, for the case to make sense. */
  readonly needs?: readonly Need[]
  run(under: StoreUnderTest): Promise<void>
}

/** A TTL that no test outlives. */
export const LONG_MS = 60_000

let asks = 0

export function asking(resource: string, more: Partial<Ask> = {}): Ask {
  const id = `lease-${++asks}-${crypto.randomUUID()}`
  return { resource, id, owner: `owner of ${id}`, ttl: LONG_MS, ...more }
}

export function granted(answer: Answer): Grant {
  check(answer.granted, 'the ask is granted')
  return answer as Grant
}

export async function grab(
  store: LeaseStore,
  resource: string,
  more: Partial<Ask> = {},
): Promise<LeaseRecord> {
  return granted(await store.acquire(asking(resource, more))).lease
}

/** Asks again until the store grants or the tries are used up. */
export async function grabSoon(
  under: StoreUnderTest,
  store: LeaseStore,
  resource: string,
  more: Partial<Ask> = {},
): Promise<Grant> {
  const ask = asking(resource, more)
  for (let tries = 0; tries < 40; tries++) {
    const answer = await store.acquire(ask)
    if (answer.granted) return answer
    await under.pass(under.ttl / 8)
  }
  throw new Error(`${resource} was not granted in ${under.ttl * 5} ms`)
}

/** Waits, in the store's time, until the condition holds; fails after a while. */
export async function eventually(
  under: StoreUnderTest,
  what: string,
  condition: () => boolean,
): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    if (condition()) return
    await under.pass(20)
  }
  check(false, `${what}, within 4 s`)
}
