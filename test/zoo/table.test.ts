import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { SCORES, scoreTable } from '../mutation/scores.ts'
import { FAULTS, faultTable } from './faults.ts'

const PAGE = join(import.meta.dirname, '../../docs/verification.md')

/** `UPDATE_TABLES=1 npx vitest run test/zoo/table.test.ts` writes them. */
it.each([
  ['the faults of the zoo and what catches them', 'the zoo', faultTable(FAULTS)],
  ['the scores of the mutation tests', 'the scores', scoreTable(SCORES)],
])('docs/verification.md has %s', (_, name, table) => {
  const page = readFileSync(PAGE, 'utf8')
  const [start, end] = [`<!-- ${name}: generated -->`, `<!-- the end of ${name} -->`]
  const [before = '', rest = ''] = page.split(start)
  const [, after = ''] = rest.split(end)
  const expected = `${before}${start}\n${table}\n${end}${after}`
  if (process.env['UPDATE_TABLES'] === '1') writeFileSync(PAGE, expected)
  else expect(page).toBe(expected)
})
