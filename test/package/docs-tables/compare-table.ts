import type { MarkdownTable } from './markdown-table.ts'

/** A cell that nothing in the code can tell. */
export const PROSE = Symbol('prose')

/**
 * `beginsWith`: the page may go on with details. `means`: the page may write the same in another way. `correct`: what
 * the code says, if it says something else than the cell.
 */
export type ExpectedCell =
  | string
  | { readonly beginsWith: string }
  | { readonly means: string; readonly meaning: (cell: string) => string }
  | { readonly correct: (cell: string) => string | undefined }
  | typeof PROSE

/** The first cell names the row. */
export type ExpectedRow = readonly [name: string, ...cells: ExpectedCell[]]

/** What a table must contain. */
export interface TableCheck {
  /** As in `MarkdownTable`. */
  readonly table: string
  /** What a row is about, for messages, such as `exit code`. */
  readonly about: string
  /** The rows have the order of the code. */
  readonly isOrdered?: true
  /** The name of a row by its first cell, or the names if it tells of several things. Default: the cell. */
  readonly nameOf?: (cell: string) => string | readonly string[]
  readonly rows: () => readonly ExpectedRow[] | Promise<readonly ExpectedRow[]>
}

/** One line for each row that is missing, is too many, is in another place, or has another cell than the code says. */
export function differences(
  { name, page, header, rows }: MarkdownTable,
  { about, isOrdered, nameOf = (cell) => cell }: Omit<TableCheck, 'table' | 'rows'>,
  expected: readonly ExpectedRow[],
): string[] {
  const of = (row: string) => `the row of ${about} ${plain(row)}`
  const named = rows.flatMap((cells) => [nameOf(cells[0] ?? '')].flat().map((first) => ({ first, cells })))
  const names = named.map(({ first }) => first)
  const expectedNames = expected.map(([first]) => first)
  const missing = expected
    .filter(([first]) => !names.includes(first))
    .map((row) => `${name}: ${of(row[0])} is missing; the code has | ${row.map(shown).join(' | ')} |`)
  const wrong = named.flatMap(({ first, cells }, index) => {
    const row = expected.find(([other]) => other === first)
    if (!row)
      return [`${name}: ${of(first)} is not in the code, which has ${expectedNames.map(plain).join(', ')}`]
    if (names.indexOf(first) !== index) return [`${name}: ${of(first)} is there twice`]
    if (cells.length !== header.length || row.length !== header.length)
      return [
        `${name}: ${of(first)} has ${cells.length} cells, the header has ${header.length}, the code ${row.length}`,
      ]
    return row.slice(1).flatMap((cell, index) => {
      const actual = cells[index + 1] ?? ''
      const title = plain(header[index + 1] ?? '')
      const correct = correction(cell, actual)
      return correct === undefined
        ? []
        : [`${page}: ${of(first)} says "${actual}"${title && ` as ${title}`}, the code says "${correct}"`]
    })
  })
  if (missing.length > 0 || wrong.length > 0) return [...missing, ...wrong]
  const misplaced = isOrdered ? expectedNames.findIndex((other, index) => other !== names[index]) : -1
  return misplaced < 0
    ? []
    : [
        `${name}: ${of(names[misplaced] ?? '')} is where the code has ${plain(expectedNames[misplaced] ?? '')}`,
      ]
}

/** What the code says, if the cell says something else. */
export function correction(expected: ExpectedCell, actual: string): string | undefined {
  if (typeof expected === 'object' && 'correct' in expected) return expected.correct(actual)
  return agrees(expected, actual) ? undefined : shown(expected)
}

function agrees(expected: Exclude<ExpectedCell, { readonly correct: unknown }>, actual: string): boolean {
  if (expected === PROSE) return true
  if (typeof expected === 'string') return expected === actual
  return 'means' in expected
    ? expected.meaning(expected.means) === expected.meaning(actual)
    : actual.startsWith(expected.beginsWith)
}

function shown(cell: ExpectedCell): string {
  if (typeof cell === 'string') return cell
  if (cell === PROSE || 'correct' in cell) return '…'
  return 'means' in cell ? cell.means : `${cell.beginsWith}…`
}

/** Without the marks of code and links. */
export function plain(text: string): string {
  return text.replaceAll('`', '').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
}

/** A name as code: `ttl` in backticks. */
export function code(text: string): string {
  return `\`${text}\``
}
