import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../../scripts/run-tool.ts'
import type { ExpectedRow, TableCheck } from './compare-table.ts'
import { type MarkdownTable, tablesOf } from './markdown-table.ts'

/** Writes the rows into the page. Cells that the code does not know stay as they are. */
export function rewrite(
  { name, page, rows }: MarkdownTable,
  { nameOf = (cell) => cell }: Pick<TableCheck, 'nameOf'>,
  expected: readonly ExpectedRow[],
): void {
  const path = join(root, page)
  const lines = readFileSync(path, 'utf8').split('\n')
  // Another table of the page may have become longer.
  const line = tablesOf(page, lines.join('\n')).find((table) => table.name === name)?.line
  if (line === undefined) throw new Error(`${name}: there is no such table`)
  const written = expected.map((row) => {
    const old = rows.find(([first = '']) => nameOf(first) === row[0])
    const cells = row.map((cell, column) => {
      if (column === 0) return old?.[0] ?? row[0]
      if (typeof cell === 'string') return cell
      if (typeof cell === 'symbol') return old?.[column] ?? ''
      if ('means' in cell) return cell.means
      return old?.[column] ?? ('beginsWith' in cell ? cell.beginsWith : '')
    })
    return `|${cells.map((cell) => (cell ? ` ${cell} |` : ' |')).join('')}`
  })
  lines.splice(line + 1, rows.length, ...written)
  writeFileSync(path, lines.join('\n'))
}
