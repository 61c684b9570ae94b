import type {
  Answer,
  Ask,
  Grant,
  LeaseRecord,
  LeaseStore,
  Refusal,
  RenewAsk,
  StoreSupport,
} from '../../core/index.ts'
import { HANG_MS, LONG_MS, PATIENCE_MS, PAUSE_MS, RESERVATION_MS } from '../options.ts'
import { check, checkEqual } from './check.ts'

export interface StoreUnderTest {
  readonly store: LeaseStore
  readonly peer: LeaseStore
  /** `peer` is another store than `store`. */
  readonly hasPeer: boolean
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

/** For many calls at once: on a busy machine a backend may need longer than a call may usually take. */
export const PATIENT = { timeout: LONG_MS }

let asks = 0

export function asking(resource: string, more: Partial<Ask> = {}): Ask {
  const name = `lease-${++asks}`
  return { resource, id: `${name}-${crypto.randomUUID()}`, owner: `owner of ${name}`, ttl: LONG_MS, ...more }
}

/** `who` asked, for the message. */
export function granted(answer: Answer, who = 'the request'): Grant {
  if (answer.granted) return answer
  const { holders, place, keptFor = 0 } = answer
  throw new Error(
    `${who}: expected a grant, got a refusal; held by ${named(holders)}, place ${place}, kept for ${keptFor} ms`,
  )
}

/** The answer to a request that must not be granted. `who` asked, for the message. */
export async function refused(
  store: LeaseStore,
  resource: string,
  who: string,
  more: Partial<Ask> = {},
): Promise<Refusal> {
  const answer = await store.acquire(asking(resource, more))
  if (!answer.granted) return answer
  throw new Error(`${who}: expected a refusal, got a grant: ${named([answer.lease])}`)
}

export async function renewed(store: LeaseStore, ask: RenewAsk, who: string): Promise<LeaseRecord> {
  const renewal = await store.renew(ask)
  if (renewal.ok) return renewal.lease
  throw new Error(`${who}: expected that it may renew, got a refusal; held by ${named(renewal.holders)}`)
}

/** The holders that a refused renewal names. */
export async function notRenewed(
  store: LeaseStore,
  ask: RenewAsk,
  who: string,
): Promise<readonly LeaseRecord[]> {
  const renewal = await store.renew(ask)
  if (!renewal.ok) return renewal.holders
  throw new Error(`${who}: expected that it may not renew, got ${named([renewal.lease])}`)
}

/** The live leases of a resource must be these, in this order. */
export async function checkHeldBy(
  store: LeaseStore,
  resource: string,
  expected: readonly LeaseRecord[],
  what = `the live leases of ${resource}`,
): Promise<void> {
  const [found = []] = await store.read([resource])
  checkEqual(idsOf(found), idsOf(expected), what)
}

export function idsOf(leases: readonly LeaseRecord[]): string[] {
  return leases.map(({ id }) => id)
}

function named(leases: readonly LeaseRecord[]): string {
  const names = leases.map(
    ({ owner, token, share, remaining }) =>
      `${owner} (token ${token}, ${remaining} ms left${share === null ? '' : `, share ${share}`})`,
  )
  return names.join(' and ') || 'nobody'
}

/** All pages of a list, joined. */
export async function listAll(store: LeaseStore, prefix: string, limit: number): Promise<LeaseRecord[]> {
  const found: LeaseRecord[] = []
  let after: string | undefined
  do {
    const page = await store.list({ prefix, limit, ...(after !== undefined && { after }) })
    check(page.leases.length <= limit, `a page has at most ${limit} leases, got ${page.leases.length}`)
    found.push(...page.leases)
    after = page.next
    check(found.length < 100, `the pages of ${prefix} come to an end, got ${found.length} leases so far`)
  } while (after !== undefined)
  return found
}

export async function grab(
  store: LeaseStore,
  resource: string,
  more: Partial<Ask> = {},
): Promise<LeaseRecord> {
  return granted(await store.acquire(asking(resource, more), PATIENT)).lease
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
  return granted(await store.acquire(ask), `${resource}, after ${under.ttl * 5} ms of asking`)
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
  const patienceMs = PATIENCE_MS + 10 * under.ttl
  const hangMs = HANG_MS + 20 * under.ttl
  for (let passed = 0; !condition(); passed += PAUSE_MS) {
    if (passed < patienceMs) {
      await under.pass(PAUSE_MS)
      continue
    }
    const took = performance.now() - started
    check(took > patienceMs / 8 && took < hangMs, `${what}, within ${Math.round(took / 1000)} s`)
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
}
