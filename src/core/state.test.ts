import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Moment } from '../base/clock.ts'
import { type Action, FREE, hasPassed, type LeaseState, nextDue, reduce } from './state.ts'

const TTL = 1000
const moment = fc
  .record({ mono: fc.integer({ min: 0, max: 5000 }), wall: fc.integer({ min: 0, max: 5000 }) })
  .map((at): Moment => at)
const options = fc.constantFrom({ ttl: TTL, heartbeat: 300 })
const remaining = fc.constantFrom(TTL, 2 * TTL, TTL / 2, null)
const action: fc.Arbitrary<Action> = fc.oneof(
  fc.constant<Action>({ type: 'ask' }),
  fc.constant<Action>({ type: 'refused' }),
  fc.record({
    type: fc.constant('granted' as const),
    sent: moment,
    at: moment,
    options,
    remaining,
  }),
  fc.record({ type: fc.constant('beat' as const), at: moment, again: fc.integer({ min: 0, max: 5000 }) }),
  fc.constant<Action>({ type: 'warned' }),
  fc.record({ type: fc.constant('tick' as const), at: moment }),
  fc.constant<Action>({ type: 'end', reason: 'refused' }),
  fc.constant<Action>({ type: 'release' }),
)

describe('the life of a lease', () => {
  it('ends for good when it is lost or released', () => {
    fc.assert(
      fc.property(fc.array(action), fc.array(action), (before, after) => {
        const state = run(before)
        if (state.phase === 'lost' || state.phase === 'released') expect(run(after, state)).toEqual(state)
      }),
    )
  })

  it('is held only by an answer that came in time', () => {
    fc.assert(
      fc.property(fc.array(action), (actions) => {
        let state: LeaseState = FREE
        for (const next of actions) {
          const before = state
          state = reduce(state, next)
          if (state.phase !== 'held' || before.phase === 'held') continue
          expect(next.type).toBe('granted')
          if (next.type === 'granted') expect(hasPassed(state, next.at)).toBe(false)
        }
      }),
    )
  })

  it('moves its deadline by acknowledged requests only, each from its own send time, and never back', () => {
    fc.assert(
      fc.property(fc.array(action), (actions) => {
        let state: LeaseState = FREE
        for (const next of actions) {
          const before = state
          state = reduce(state, next)
          if (before.phase !== 'held' || state.phase !== 'held') continue
          expect(state.until.mono).toBeGreaterThanOrEqual(before.until.mono)
          if (state.until.mono === before.until.mono) continue
          expect(next.type).toBe('granted')
          if (next.type !== 'granted') continue
          const granted = next.remaining === null ? Infinity : Math.min(TTL, next.remaining)
          expect(state.until.mono).toBe(next.sent.mono + granted * 0.98)
        }
      }),
    )
  })

  it('is lost by the first moment after its deadline that it learns of', () => {
    fc.assert(
      fc.property(fc.array(action), moment, (actions, at) => {
        const state = run(actions)
        if (state.phase === 'held' && hasPassed(state, at))
          expect(reduce(state, { type: 'tick', at })).toEqual({ phase: 'lost', reason: 'deadline' })
      }),
    )
  })

  it('beats no more than it was told to, also where it has no end', () => {
    const at = { mono: 0, wall: 0 }
    const granted: Action = {
      type: 'granted',
      sent: at,
      at,
      options: { ttl: TTL, heartbeat: Infinity },
      remaining: null,
    }
    const state = run([granted, { type: 'beat', at, again: 100 }, granted])
    expect(state.phase === 'held' && nextDue(state)).toBe(Infinity)
  })

  it('always has a time at which it wants attention, unless it never ends', () => {
    fc.assert(
      fc.property(fc.array(action), (actions) => {
        const state = run(actions)
        if (state.phase === 'held') expect(nextDue(state)).toBeLessThanOrEqual(state.until.mono)
      }),
    )
  })
})

function run(actions: readonly Action[], from: LeaseState = FREE): LeaseState {
  return actions.reduce(reduce, from)
}
