import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../../scripts/run-tool.ts'
import { correction, type ExpectedRow, type TableCheck } from './compare-table.ts'
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
    const old = rows.find(([first = '']) => [nameOf(first)].flat().includes(row[0]))
    const cells = row.map((cell, column) => {
      const before = old?.[column]
      if (before !== undefined && (column === 0 || correction(cell, before) === undefined)) return before
      if (typeof cell === 'string') return cell
      if (typeof cell === 'symbol' || 'correct' in cell) return before ?? ''
      return 'means' in cell ? cell.means : cell.beginsWith
    })
    return `|${cells.map((cell) => (cell ? ` ${cell} |` : ' |')).join('')}`
  })
  lines.splice(line + 1, rows.length, ...written)
  writeFileSync(path, lines.join('\n'))
}
