import { expect, it } from 'vitest'
import { differences, type ExpectedRow, PROSE } from './compare-table.ts'
import { tablesOf } from './markdown-table.ts'

const PAGE = `# Title

## Codes

| code | retry | |
|---|---|---|
| \`a\` | yes | the first \\| letter |
| \`b\` | no | the second |

\`\`\`
| not | a table |
|---|---|
\`\`\`

| key | |
|---|---|
| x | |
`
const [codes, keys, ...others] = tablesOf('docs/page.md', PAGE)
const ROWS: readonly ExpectedRow[] = [
  ['`a`', 'yes', 'the first \\| letter'],
  ['`b`', 'no', 'the second'],
]

function differencesOf(rows: readonly ExpectedRow[]): string[] {
  if (!codes) throw new Error('the page has no table')
  return differences(codes, { about: 'code', isOrdered: true }, rows)
}

it('tables are found by their heading, except in code', () => {
  expect([codes?.name, codes?.line, keys?.name, others]).toEqual([
    'docs/page.md#Codes',
    5,
    'docs/page.md#Codes 2',
    [],
  ])
})

it('a table that says what the code says has no differences', () => {
  expect(differencesOf(ROWS)).toEqual([])
  expect(differencesOf([ROWS[0] as ExpectedRow, ['`b`', PROSE, { beginsWith: 'the sec' }]])).toEqual([])
  const meaning = (cell: string) => cell.toLowerCase()
  expect(differencesOf([ROWS[0] as ExpectedRow, ['`b`', { means: 'NO', meaning }, PROSE]])).toEqual([])
})

it.each<[string, readonly ExpectedRow[], string]>([
  [
    'a cell',
    [ROWS[0] as ExpectedRow, ['`b`', 'yes', 'the second']],
    'docs/page.md: the row of code b says "no" as retry, the code says "yes"',
  ],
  [
    'the beginning of a cell',
    [ROWS[0] as ExpectedRow, ['`b`', 'no', { beginsWith: 'third' }]],
    'docs/page.md: the row of code b says "the second", the code says "third…"',
  ],
  [
    'a row that is missing',
    [...ROWS, ['`c`', 'no', PROSE]],
    'docs/page.md#Codes: the row of code c is missing; the code has | `c` | no | … |',
  ],
  [
    'a row that is too many',
    ROWS.slice(0, 1),
    'docs/page.md#Codes: the row of code b is not in the code, which has a',
  ],
  ['the order of rows', ROWS.toReversed(), 'docs/page.md#Codes: the row of code a is where the code has b'],
])('a difference names its row: %s', (_, rows, message) => {
  expect(differencesOf(rows)).toEqual([message])
})
