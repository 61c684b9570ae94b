import { describe, expect, it } from 'vitest'
import { systemClock } from '../core/index.ts'
import { FakeClock } from './fake-clock.ts'

const clocks = [
  ['a FakeClock', new FakeClock()],
  ['the clock of this machine', systemClock],
] as const

describe.each(clocks)('%s', (_, clock) => {
  it('the monotonic time has fractions, and goes on between two reads or stands still', () => {
    const reads = Array.from({ length: 100 }, () => clock.monotonic())
    expect(reads.some((read) => !Number.isInteger(read))).toBe(true)
    expect(reads).toEqual(reads.toSorted((a, b) => a - b))
    expect(new Set(reads).size).toBeGreaterThan(1)
  })

  it('the wall time is in whole milliseconds, from another origin', () => {
    expect(Number.isInteger(clock.now())).toBe(true)
    expect(clock.now() - clock.monotonic()).toBeGreaterThan(1_000_000_000)
  })
})

describe('a fake clock', () => {
  it('starts at the wall time that it is given, and moves only by nanoseconds on its own', () => {
    const clock = new FakeClock(1_000_000)
    const started = clock.monotonic()
    for (let read = 0; read < 1000; read++) clock.monotonic()
    expect(clock.now()).toBe(1_000_000)
    expect(clock.monotonic() - started).toBeLessThan(0.01)
  })

  it('a fake clock moves both times by what it advances', async () => {
    const clock = new FakeClock(1_000_000)
    const started = clock.monotonic()
    await clock.advance(2500)
    expect(clock.now()).toBe(1_002_500)
    expect(clock.monotonic() - started).toBeCloseTo(2500, 3)
  })

  it('a fake clock runs a timer when it advances by its time, and not before', async () => {
    const clock = new FakeClock()
    let ran = 0
    clock.setTimer(() => ran++, 30_000)
    await clock.advance(29_999)
    expect(ran).toBe(0)
    await clock.advance(1)
    expect(ran).toBe(1)
  })

  it.each([0, 10])(
    'runs a timer that is set again and again as often as it fits, after %d years',
    async (years) => {
      const clock = new FakeClock()
      await clock.advance(years * 365 * 86_400_000)
      let ran = 0
      const beat = () => {
        ran++
        const due = clock.monotonic() + 10_000
        clock.setTimer(beat, due - clock.monotonic())
      }
      clock.setTimer(beat, 10_000)
      await clock.advance(30_000)
      expect(ran).toBe(3)
    },
  )

  it('a fake clock never goes back, also when two callers let time pass at once', async () => {
    const clock = new FakeClock()
    const started = clock.monotonic()
    await Promise.all([clock.advance(100), clock.advance(40)])
    expect(clock.monotonic() - started).toBeCloseTo(100, 3)
  })

  it('a fake clock shows a timer no time before its own', async () => {
    const clock = new FakeClock()
    const due = clock.monotonic() + 0.25
    let firedAt = 0
    clock.setTimer(() => (firedAt = clock.monotonic()), 0.25)
    await clock.advance(1)
    expect(firedAt).toBeGreaterThanOrEqual(due)
  })

  it('a fake clock takes a duration as text, and refuses anything else, so that it never becomes NaN', async () => {
    const clock = new FakeClock()
    const started = clock.now()
    await clock.advance('30s')
    expect(clock.now() - started).toBe(30_000)
    clock.jump('1h')
    clock.jump(-1000)
    expect(clock.now() - started).toBe(3_629_000)
    for (const by of ['soon', Number.NaN, undefined, Infinity, -1, {}] as never[])
      await expect(clock.advance(by)).rejects.toMatchObject({ code: 'invalid-argument' })
    expect(() => clock.jump('later' as never)).toThrow(
      'by: expected milliseconds, or text such as \'30s\', got "later"',
    )
    expect(() => new FakeClock(Number.NaN)).toThrow('now: expected milliseconds since 1970, got NaN')
    expect(clock.now() - started).toBe(3_629_000)
  })
})
