import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { FAULTS, faultTable } from './faults.ts'

const PAGE = join(import.meta.dirname, '../../docs/verification.md')
const [START, END] = ['<!-- the zoo: generated -->', '<!-- the end of the zoo -->']

/** `UPDATE_TABLES=1 npx vitest run test/zoo/table.test.ts` writes it. */
it('docs/verification.md has the faults of the zoo and what catches them', () => {
  const page = readFileSync(PAGE, 'utf8')
  const [before = '', rest = ''] = page.split(START)
  const [, after = ''] = rest.split(END)
  const expected = `${before}${START}\n${faultTable(FAULTS)}\n${END}${after}`
  if (process.env['UPDATE_TABLES'] === '1') writeFileSync(PAGE, expected)
  else expect(page).toBe(expected)
})
