import type { Answer, Ask, Grant, LeaseRecord, LeaseStore, StoreSupport } from '../../core/index.ts'
import { HANG_MS } from '../runner.ts'
import { check } from './check.ts'

export interface StoreUnderTest {
  readonly store: LeaseStore
  readonly peer: LeaseStore
  readonly supports: StoreSupport
  readonly ttl: number
  readonly contention: number
  pass(ms: number): Promise<void>
  /** Real time, and what `pass` has added to it. */
  elapsed(): number
  stepClock(ms: number): void
  /** Sets the clock of this process off by so much, until the function that it returns is called. */
  skewCaller(ms: number): () => void
  reopen(): Promise<LeaseStore>
  outage(): Promise<() => Promise<void>>
  interruptWatch(): Promise<void>
}

/** What a harness may offer. */
export type Hook = 'stepClock' | 'skewCaller' | 'reopen' | 'outage' | 'interruptWatch'
type Need = keyof StoreSupport | Hook

export interface Case {
  readonly title: string
  /** What the store must support, or the harness offer, for the case to make sense. */
  readonly needs?: readonly Need[]
  run(under: StoreUnderTest): Promise<void>
}

/** A TTL that no test outlives. */
export const LONG_MS = 600_000

/** How long a freed resource is kept for the first waiter. */
const RESERVATION_MS = 1000

/** How much of the store's time passes while a case waits for something. */
const PATIENCE_MS = 4000
const PAUSE_MS = 20

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

/**
 * Runs steps for which the lease must still be held, and resolves with what they return. Steps that fail after so
 * long that the TTL may have run out show nothing: they run again, on a resource of their own, with a longer TTL.
 */
export function whileHeld<T>(
  under: StoreUnderTest,
  resource: string,
  steps: (resource: string, ttl: number, restart: () => void) => Promise<T>,
): Promise<T> {
  const ttls = [1, 2, 4, 8, 16, 32].map((factor) => factor * under.ttl)
  return inTime(under, ttls, (ttl, attempt, restart) => steps(`${resource}-${attempt}`, ttl, restart))
}

/** The same for steps that must be through before the reservation of the first waiter runs out. */
export function whileReserved(
  under: StoreUnderTest,
  resource: string,
  steps: (resource: string, restart: () => void) => Promise<void>,
): Promise<void> {
  const limits = Array.from({ length: 20 }, () => RESERVATION_MS)
  return inTime(under, limits, (_, attempt, restart) => steps(`${resource}-${attempt}`, restart))
}

/** `restart`: the limit begins anew. */
async function inTime<T>(
  under: StoreUnderTest,
  limits: readonly number[],
  steps: (limit: number, attempt: number, restart: () => void) => Promise<T>,
): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    const limit = limits[attempt] ?? 0
    let from = under.elapsed()
    let isLate = false
    const restart = () => {
      // Half of it: the call that makes the limit begin anew takes time too, and clocks may run apart.
      isLate ||= under.elapsed() - from > limit / 2
      from = under.elapsed()
    }
    try {
      return await steps(limit, attempt, restart)
    } catch (error) {
      restart()
      if (!isLate || attempt === limits.length - 1) throw error
    }
  }
}

/**
 * Waits until the condition holds: first in the store's time, then in real time, for what a busy machine delivers
 * late. A clock that took no real time for the first has nothing under way, and is not waited for.
 */
export async function eventually(
  under: StoreUnderTest,
  what: string,
  condition: () => boolean,
): Promise<void> {
  const started = performance.now()
  for (let passed = 0; !condition(); passed += PAUSE_MS) {
    if (passed < PATIENCE_MS) {
      await under.pass(PAUSE_MS)
      continue
    }
    const took = performance.now() - started
    check(took > PATIENCE_MS / 8 && took < HANG_MS, `${what}, within ${Math.round(took / 1000)} s`)
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
}
