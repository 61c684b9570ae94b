import { COLUMN_GAP, NARROWEST_COLUMN } from './options.ts'
import { alignColumns, cut, shareColumns, widest } from './terminal.ts'

export interface Column<Row> {
  readonly heading: string
  readonly text: (row: Row) => string
  /** Cut if the line would be longer than the terminal is wide. */
  readonly isFlexible?: boolean
  /** The column with the highest one is left out first on a narrow terminal. Default: it is never left out. */
  readonly rank?: number
  /** Left out if it would have another column cut. */
  readonly isExtra?: boolean
  /** Left out if no row has a text. */
  readonly isOptional?: boolean
}

/** A heading and one line for each row. No line is wider than `width`, and no heading is cut before its column goes. */
export function fitColumns<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  width: number,
): string[] {
  const used = columns
    .filter(({ isOptional, text }) => !isOptional || rows.some((row) => text(row) !== ''))
    .map((column) => {
      const cells = [column.heading, ...rows.map(column.text)]
      return { ...column, cells, wanted: widest(cells) }
    })
  const isTooWide = () => {
    const most = used.some(({ isExtra }) => isExtra) ? Infinity : NARROWEST_COLUMN
    const least = used.map(({ isFlexible, wanted }) => (isFlexible ? Math.min(wanted, most) : wanted))
    return least.reduce((sum, each) => sum + each + COLUMN_GAP, -COLUMN_GAP) > width
  }
  while (isTooWide()) {
    const ranked = used.filter(({ rank }) => rank !== undefined)
    const last = ranked.toSorted((a, b) => (b.rank ?? 0) - (a.rank ?? 0))[0]
    if (!last) break
    used.splice(used.indexOf(last), 1)
  }
  const flexible = used.filter(({ isFlexible }) => isFlexible)
  const fixed = used.reduce((sum, { isFlexible, wanted }) => sum + (isFlexible ? 0 : wanted), 0)
  const shares = shareColumns(
    flexible.map(({ wanted }) => wanted),
    width - fixed - COLUMN_GAP * (used.length - 1),
  )
  const cells = used.map((column) => {
    const share = shares[flexible.indexOf(column)]
    return share === undefined ? column.cells : column.cells.map((text) => cut(text, share))
  })
  const lines = Array.from({ length: rows.length + 1 }, (_, row) => cells.map((column) => column[row] ?? ''))
  return alignColumns(lines).map((line) => cut(line, width))
}
