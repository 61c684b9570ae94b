import { it } from 'vitest'
import { CHECKS } from './checks.ts'
import { docsTables } from './markdown-table.ts'
import { MEASURED_PAGES, PROSE_TABLES } from './prose-tables.ts'

const tables = docsTables()

it('every table is compared with the code, or listed as prose with the reason', () => {
  const names = tables.map(({ name }) => name).filter((name) => !MEASURED_PAGES.test(name))
  const known = [...CHECKS.map(({ table }) => table), ...Object.keys(PROSE_TABLES)]
  const mistakes = [
    ...names.filter((name) => !known.includes(name)).map((name) => `${name}: has no check, see checks.ts`),
    ...known.filter((name) => !names.includes(name)).map((name) => `${name}: there is no such table`),
    ...known.filter((name, index) => known.indexOf(name) < index).map((name) => `${name}: is listed twice`),
  ]
  if (mistakes.length > 0) throw new Error(mistakes.join('\n'))
})
