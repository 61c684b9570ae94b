import { describe, expect, it } from 'vitest'
import { formatDuration, parseDuration } from './duration.ts'

describe('a duration', () => {
  it('is in milliseconds, and what is none is told by its name', () => {
    expect(parseDuration('1d', '--ttl')).toBe(86_400_000)
    expect(() => parseDuration('1w', '--ttl')).toThrow(
      '--ttl: expected a duration such as 500ms, 30s or 5m, got "1w"',
    )
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
