import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkProperty } from '../../test/property.ts'
import type { Moment } from '../base/clock.ts'
import { type Granted, type Held, hasPassed, hold, nextDue } from './state.ts'

const TTL = 1000
const moment = fc
  .record({ mono: fc.integer({ min: 0, max: 5000 }), wall: fc.integer({ min: 0, max: 5000 }) })
  .map((at): Moment => at)
const granted: fc.Arbitrary<Granted> = fc.record({
  sent: moment,
  at: moment,
  ttl: fc.constant(TTL),
  heartbeat: fc.constant(300),
  remaining: fc.constantFrom(TTL, 2 * TTL, TTL / 2, null),
})

describe('the time that a lease has left', () => {
  it('the time that a lease has left begins only with an answer that came in time', () => {
    checkProperty(
      fc.property(granted, (grant) => {
        const held = hold(grant)
        if (held) expect(hasPassed(held, grant.at)).toBe(false)
        else expect(endOf(grant)).toBeLessThanOrEqual(Math.max(grant.at.mono + 2, grant.at.wall))
      }),
    )
  })

  it.each([
    ['two milliseconds before it ends, by the monotonic clock', { mono: 998, wall: 0 }, true],
    ['a moment before that', { mono: 997.9, wall: 999.9 }, false],
    ['at its end, by the wall clock', { mono: 0, wall: 1000 }, true],
  ])('the time that a lease has left is over %s: %j, %s', (_, at, isOver) => {
    const until = { mono: 1000, wall: 1000 }
    expect(hasPassed({ until, beatAt: Infinity, dangerAt: Infinity }, at)).toBe(isOver)
  })

  it('ends for good: no answer continues a lease that has ended', () => {
    checkProperty(fc.property(granted, (grant) => hold(grant, null) === null))
  })

  it('the time that a lease has left is moved by acknowledged requests only, each from its own send time, and never back', () => {
    checkProperty(
      fc.property(fc.array(granted), (grants) => {
        let held = hold(grantAt(0))
        for (const grant of grants) {
          const before = held
          held = hold(grant, held)
          if (!before || !held) continue
          expect(held.until.mono).toBeGreaterThanOrEqual(before.until.mono)
          if (held.until.mono > before.until.mono) expect(held.until.mono).toBe(monoEndOf(grant))
        }
      }),
    )
  })

  it('the time that a lease has left is over by the first answer after its deadline', () => {
    checkProperty(
      fc.property(granted, granted, (first, second) => {
        const held = hold(first)
        if (held && hasPassed(held, second.at)) expect(hold(second, held)).toBeNull()
      }),
    )
  })

  it('the time that a lease has left has a heartbeat no sooner than it was told, also where it has no end', () => {
    const endless = { ...grantAt(0), heartbeat: Infinity, remaining: null }
    const held = hold(endless)
    const renewed = held && hold(endless, { ...held, beatAt: 100 })
    expect(renewed && nextDue(renewed)).toBe(Infinity)
  })

  it('the time that a lease has left plans the next heartbeat from the answer, but leaves the time for a slow one', () => {
    const beatAfter = (took: number, heartbeat: number) =>
      hold({ ...grantAt(0), at: { mono: took, wall: took }, heartbeat })?.beatAt
    expect([0, 50, 100, 900].map((took) => beatAfter(took, 300))).toEqual([300, 350, 400, 400])
    expect([0, 50].map((took) => beatAfter(took, 900))).toEqual([900, 900])
  })

  it('always has a time at which it wants attention, unless it never ends', () => {
    checkProperty(
      fc.property(granted, granted, (first, second) => {
        const held = hold(second, hold(first))
        if (held) expect(nextDue(held)).toBeLessThanOrEqual(held.until.mono)
      }),
    )
  })
})

function grantAt(time: number): Granted {
  const at = { mono: time, wall: time }
  return { sent: at, at, ttl: TTL, heartbeat: 300, remaining: TTL }
}

function monoEndOf({ sent, remaining }: Granted): Held['until']['mono'] {
  return sent.mono + (remaining === null ? Infinity : Math.min(TTL, remaining)) * 0.98
}

/** The earlier end on the two clocks. */
function endOf(grant: Granted): number {
  const span = monoEndOf(grant) - grant.sent.mono
  return Math.min(grant.sent.mono, grant.sent.wall) + span
}
