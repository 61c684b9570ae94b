import { expect, it } from 'vitest'
import { formatDuration } from './format-duration.ts'

it.each([
  [-3, '0ms'],
  [850.4, '850ms'],
  [21_999, '21s'],
  [60_000, '1m'],
  [130_000, '2m 10s'],
  [11_100_000, '3h 5m'],
  [187_200_000, '2d 4h'],
])('%d ms reads %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text)
})
