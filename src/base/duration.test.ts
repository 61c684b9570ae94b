import { describe, expect, it } from 'vitest'
import { type Duration, millisOf, parseDuration } from './duration.ts'

describe('a duration', () => {
  it.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['1.001s', 1001],
    ['1.5m', 90_000],
    ['2h', 7_200_000],
    ['30d', 2_592_000_000],
    ['250', 250],
    ['0', 0],
    [' 5s ', 5000],
    [1500, 1500],
    [Infinity, Infinity],
  ])('%j is %d ms', (duration, ms) => {
    expect(millisOf(duration)).toBe(ms)
    expect(parseDuration(duration as Duration)).toBe(ms)
  })

  it.each(['', 'soon', '5 miles', '-1s', '1w', '1e3', 's', '.', '1.2.3s'])('a duration is not %j', (text) => {
    expect(millisOf(text)).toBeNaN()
    expect(() => parseDuration(text)).toThrow(
      expect.objectContaining({
        code: 'invalid-argument',
        message: `duration: expected milliseconds, or text such as '30s', got ${JSON.stringify(text)}`,
      }),
    )
  })

  it.each([-1, Number.NaN, null, undefined, {}])('a duration is not %s', (value) => {
    expect(() => parseDuration(value as never)).toThrow('duration: expected milliseconds')
  })
})
