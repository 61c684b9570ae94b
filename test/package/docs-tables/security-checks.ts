import type { ExpectedRow, TableCheck } from './compare-table.ts'
import { sourceOf } from './declarations.ts'
import { COSTS, type SecurityRow, THREATS } from './security-rows.ts'

export const SECURITY_CHECKS: readonly TableCheck[] = [
  {
    table: 'docs/security.md#What each threat meets',
    about: 'the threat',
    isOrdered: true,
    rows: () => THREATS.map(shownByTests),
  },
  {
    table: 'docs/security.md#What a stranger can cost',
    about: 'the cost',
    isOrdered: true,
    rows: () => COSTS.map(shownByTests),
  },
]

/** Throws unless the tests of the row exist and mention each status of the promise. */
function shownByTests({ name, promise, tests }: SecurityRow): ExpectedRow {
  const files = Array.from(tests.matchAll(/`([^`]+)`/g), ([, file = '']) => sourceOf(file)).join('\n')
  const titles = Array.from(tests.matchAll(/\('([^']+)'\)/g), ([, title = '']) => title)
  const statuses = promise.match(/\b[45]\d\d\d?\b/g) ?? []
  const missing = [...titles, ...statuses].filter((text) => !files.includes(text))
  if (missing.length > 0) throw new Error(`docs/security.md: ${tests} do not mention ${missing} of "${name}"`)
  return [name, promise, tests]
}
