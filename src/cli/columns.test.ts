import { describe, expect, it } from 'vitest'
import { type Column, fitColumns } from './columns.ts'
import { width } from './terminal.ts'

type Row = readonly [name: string, count: string, token: string]

const COLUMNS: readonly Column<Row>[] = [
  { heading: 'NAME', text: ([name]) => name, isFlexible: true },
  { heading: 'TOKEN', text: ([, , token]) => token, rank: 2 },
  { heading: 'COUNT', text: ([, count]) => count, rank: 1, isOptional: true },
  { heading: 'LEFT', text: () => '21s' },
]
const rows: Row[] = [
  ['a-name-of-thirty-characters-in-all'.slice(0, 30), '7', '1794726965942000'],
  ['b', '', '1794726965942001'],
]

describe('the columns of a table', () => {
  it.each([
    [80, 'NAME                            TOKEN             COUNT  LEFT'],
    [55, 'NAME                   TOKEN             COUNT  LEFT'],
    [40, 'NAME                     COUNT  LEFT'],
    [22, 'NAME            LEFT'],
    [10, 'NAME LEFT'],
  ])('the columns of a table at a width of %d are as many as fit, by their rank', (columns, heading) => {
    const lines = fitColumns(COLUMNS, rows, columns)
    expect(lines[0]?.replace(/ +/g, ' ')).toBe(heading.replace(/ +/g, ' '))
    for (const line of lines) expect(width(line)).toBeLessThanOrEqual(columns)
  })

  it('the columns of a table leave out an optional one that has no text', () => {
    expect(fitColumns(COLUMNS, rows.slice(1), 80)[0]).toBe('NAME  TOKEN             LEFT')
  })

  it('the columns of a table have an extra one only where nothing is cut for it', () => {
    const columns = COLUMNS.map((column) =>
      column.heading === 'TOKEN' ? { ...column, isExtra: true } : column,
    )
    expect(fitColumns(columns, rows, 55)[0]).toMatch(/^NAME +COUNT {2}LEFT$/)
    expect(fitColumns(columns, rows, 61)[0]).toMatch(/^NAME +TOKEN +COUNT {2}LEFT$/)
  })

  it('the columns use the whole width for names', () => {
    expect(fitColumns(COLUMNS, rows, 40)[1]).toBe('a-name-of-thirty-character…  7      21s')
  })
})
