import { describe, expect, it } from 'vitest'
import { formatDuration, parseDuration } from './duration.ts'

describe('a duration', () => {
  it.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['1.5m', 90_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['250', 250],
    ['0', 0],
  ])('%s is %d ms', (text, ms) => {
    expect(parseDuration(text, '--ttl')).toBe(ms)
  })

  it.each(['', 'soon', '5 miles', '-1s', '1w', '1e3', 's'])('is not %j', (text) => {
    expect(() => parseDuration(text, '--ttl')).toThrow('--ttl: expected a duration such as 500ms, 30s or 5m')
  })

  it.each([
    [-3, '0ms'],
    [850.4, '850ms'],
    [21_999, '21s'],
    [60_000, '1m'],
    [130_000, '2m 10s'],
    [11_100_000, '3h 5m'],
    [187_200_000, '2d 4h'],
  ])('of %d ms reads %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text)
  })
})
