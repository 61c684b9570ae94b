import { describe, expect, it } from 'vitest'
import { parseDuration } from './duration.ts'

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
  ])('%j is %d ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms)
  })

  it.each(['', 'soon', '5 miles', '-1s', '1w', '1e3', 's', '.', '1.2.3s'])('is not %j', (text) => {
    expect(parseDuration(text)).toBeNaN()
  })
})
