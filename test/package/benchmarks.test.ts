import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { isReached } from '../../bench/docs/goals.ts'
import { cellOf, readResults } from '../../bench/docs/results.ts'
import { pagesOf } from '../../bench/docs/write-pages.ts'
import { root } from '../../scripts/run-tool.ts'

it('the pages of figures show the results that are kept', () => {
  for (const [path, text] of Object.entries(pagesOf(readResults())))
    expect(readFileSync(join(root, path), 'utf8'), `${path}: npm run bench -- --docs writes it`).toBe(text)
})

it('a figure that was not measured has no place on a page', () => {
  const tables = [
    {
      title: 'Start, 40 times',
      rows: [
        ['', 'ms'],
        ['ls', '3'],
      ],
    },
  ]
  const results = { 'cli-start': { day: '2030-01-01', tables } }
  const place = { bench: 'cli-start', table: 'Start', row: 'ls', column: 'ms' }
  expect(cellOf(results, place)).toBe('3')
  for (const missing of [{ bench: 'redis' }, { table: 'End' }, { row: 'run' }, { column: 's' }])
    expect(() => cellOf(results, { ...place, ...missing })).toThrow(/has no/)
})

it.each([
  ['≥ 0.80', '0.80', true],
  ['≥ 0.80', '0.79', false],
  ['≤ 3.7 µs', '3.70', true],
  ['≤ 3.7 µs', '3.71', false],
])('a goal of %s with %s measured is judged', (reach, measured, expected) => {
  expect(isReached({ reach }, measured)).toBe(expected)
})
