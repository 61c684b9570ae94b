import { expect, it } from 'vitest'
import { BlockedClock } from '../../../test/blocked-clock.ts'
import type { Answer, Ask, LeaseRecord } from '../../core/index.ts'
import { FakeClock } from '../../testing/index.ts'
import { Push } from './push.ts'
import type { Queries } from './queries.ts'
import type { Message } from './rows.ts'
import { ALIVE_FOR, MILLISECOND, WATCH_FOR } from './units.ts'

const ALIVE_FOR_MS = ALIVE_FOR / MILLISECOND
const refusal: Answer = { granted: false, holders: [], place: 0, retryIn: null }

/** `hear` answers that the process was gone if the time since the last call was too long. */
function pushOn(clock: FakeClock) {
  const heardAt: number[] = []
  const queries: Partial<Queries> = {
    hear: async () => {
      const now = clock.monotonic()
      const wasGone = now - (heardAt.at(-1) ?? now) > ALIVE_FOR_MS
      heardAt.push(now)
      return { wasGone, lapsed: false }
    },
    fetch: async () => [],
  }
  const push = new Push({ run: (work) => work(queries as Queries), pollMs: 25, clock })
  return { push, heardAt }
}

function waiting(push: Push, id: string): number[] {
  const wakes: number[] = []
  const ask: Ask = { resource: 'r', id, owner: 'me', ttl: 1000, wake: (inMs) => wakes.push(inMs) }
  push.expect(ask)
  push.answered(ask, refusal)
  return wakes
}

it('a process whose requests are answered every few milliseconds stays registered', async () => {
  const clock = new FakeClock()
  const { push, heardAt } = pushOn(clock)
  waiting(push, 'first')
  for (let ms = 0; ms < 2 * ALIVE_FOR_MS; ms += 4) {
    waiting(push, `waiter ${ms}`)
    await clock.advance(4)
  }
  const gaps = heardAt.slice(1).map((at, n) => at - (heardAt[n] ?? 0))
  expect(gaps.length).toBeGreaterThan(2)
  expect(Math.max(...gaps)).toBeLessThan(ALIVE_FOR_MS / 2)
})

it('waiters of a process that was not heard of for too long ask again', async () => {
  const clock = new FakeClock()
  const { push, heardAt } = pushOn(clock)
  const first = waiting(push, 'first')
  const second = waiting(push, 'second')
  await clock.advance(100)
  expect([heardAt.length, first, second]).toEqual([1, [], []])
  // As if the process had been stopped since.
  heardAt.push((heardAt.pop() ?? 0) - 2 * ALIVE_FOR_MS)
  await clock.advance(ALIVE_FOR_MS / 2)
  expect([heardAt.length, first, second]).toEqual([2, [1], [1]])
})

it('a watcher that stood still hears of every change that was announced before it hears of the gap', async () => {
  const clock = new BlockedClock()
  const announced: Message[] = []
  let lapsed = false
  const queries: Partial<Queries> = {
    hear: async () => ({ wasGone: false, lapsed }),
    fetch: async (_, limit) => announced.slice(0, limit),
    discard: async (seqs) => {
      announced.splice(0, seqs.length)
    },
    unwatch: async () => {},
  }
  const push = new Push({ run: (work) => work(queries as Queries), pollMs: 25, clock })
  const told: (number | 'gap')[] = []
  await push.watch((event) => told.push(event.type === 'gap' ? 'gap' : event.lease.token), '')
  await clock.advance(1000)
  // More than are fetched at once.
  const tokens = Array.from({ length: 1234 }, (_, n) => n + 1)
  announced.push(...tokens.map((token) => ({ seq: token, kind: 'change' as const, lease: leaseWith(token) })))
  lapsed = true
  clock.blockedMs = WATCH_FOR / MILLISECOND
  await clock.advance(100)
  expect(told.slice(0, tokens.length + 1)).toEqual([...tokens, 'gap'])
})

it('changes are announced until the last watcher has gone, and again for the next one', async () => {
  const calls: string[] = []
  const { promise: isGone, resolve } = Promise.withResolvers<void>()
  const queries: Partial<Queries> = {
    hear: async () => {
      calls.push('hear')
      return { wasGone: false, lapsed: false }
    },
    unwatch: () => {
      calls.push('unwatch')
      return isGone
    },
    fetch: async () => [],
  }
  const push = new Push({ run: (work) => work(queries as Queries), pollMs: 25, clock: new FakeClock() })
  const [first, second] = [await push.watch(() => {}, ''), await push.watch(() => {}, '')]
  for (let n = 0; n < 2; n++) await first[Symbol.asyncDispose]()
  expect(calls).toEqual(['hear', 'hear'])
  const leaving = second[Symbol.asyncDispose]()
  await Promise.resolve()
  const next = push.watch(() => {}, '')
  await new Promise(setImmediate)
  expect(calls).toEqual(['hear', 'hear', 'unwatch'])
  resolve()
  await Promise.all([leaving, next])
  expect(calls).toEqual(['hear', 'hear', 'unwatch', 'hear'])
})

function leaseWith(token: number): LeaseRecord {
  return {
    resource: 'r',
    id: `lease ${token}`,
    owner: 'Mika',
    token,
    metadata: null,
    share: null,
    acquiredAt: 0,
    expiresAt: 0,
    remaining: 0,
    state: 'released',
  }
}
