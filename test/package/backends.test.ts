import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { manifest } from './manifest.ts'

const PREFIXES = 'memory sqlite postgres redis mysql nats firestore etcd file web'.split(' ')
/** What the names of the factories of each row end with. */
const PARTS = ['Store', 'Jobs', 'Guard', 'Documents', 'Audit', 'Secrets', 'Bus']

const rows = readFileSync(join(root, 'docs/backends.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| ['))
  .map((line) => line.split('|').slice(1, -1))

it('the table of backends has a row for each part', () => {
  expect(rows.map((cells) => cells.length)).toEqual(PARTS.map(() => PREFIXES.length + 1))
})

it.each(
  PARTS.flatMap((part, row) => PREFIXES.map((prefix, column) => ({ name: prefix + part, row, column }))),
)('the table of backends tells the truth about $name', async ({ name, row, column }) => {
  const [part = '', ...cells] = rows[row] ?? []
  const cell = cells[column]?.trim() ?? ''
  const rowPath = subpathIn(part)
  const exported = await Promise.all(
    [subpathIn(cell) ?? rowPath ?? `holdfast/${PREFIXES[column]}`, ...(rowPath ? [`${rowPath}/node`] : [])]
      .filter((specifier) => moduleOf(specifier) !== undefined)
      .map(async (specifier) => name in (await import(moduleOf(specifier) ?? ''))),
  )
  if (cell === '–') expect(exported).not.toContain(true)
  else {
    expect(cell.match(/^`(\w+)`/)?.[1]).toBe(name)
    expect(exported[0]).toBe(true)
  }
})

function subpathIn(cell: string): string | undefined {
  return /`(holdfast\/[\w/]+)`/.exec(cell)?.[1]
}

/** The source of what the package exports under this name. */
function moduleOf(specifier: string): string | undefined {
  const target = manifest.exports[specifier.replace('holdfast', '.')]
  if (target === undefined || typeof target === 'string') return undefined
  return join(root, target.default.replace('./dist', 'src').replace(/\.js$/, '.ts'))
}
