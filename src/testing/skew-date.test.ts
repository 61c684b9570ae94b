import { expect, it } from 'vitest'
import { skewDate } from './skew-date.ts'

it('skewDate sets the clock of the process off, and back', () => {
  const before = new Date()
  const restore = skewDate(3_600_000)
  const skewed = [Date.now(), new Date(...([] as [])).valueOf(), Number(new Date(before))]
  expect(before).toBeInstanceOf(Date)
  expect(new Date(5).getTime()).toBe(5)
  restore()
  for (const [n, offset] of [3_600_000, 3_600_000, 0].entries()) {
    const off = (skewed[n] ?? 0) - before.getTime()
    expect(off).toBeGreaterThanOrEqual(offset)
    expect(off).toBeLessThan(offset + 3_600_000)
  }
  expect(Math.abs(Date.now() - before.getTime())).toBeLessThan(3_600_000)
})
