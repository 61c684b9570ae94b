import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../../scripts/run-tool.ts'

/** A table of a page. */
export interface MarkdownTable {
  /** Such as `docs/cli.md#Exit codes`; the second table below a heading is `docs/cli.md#Exit codes 2`. */
  readonly name: string
  readonly page: string
  /** Of the page, on which the table begins, from 1. */
  readonly line: number
  readonly header: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** Every table of the README, the defaults and the docs. */
export function docsTables(): MarkdownTable[] {
  const pages = ['README.md', 'DEFAULTS.md', ...globSync('docs/**/*.md', { cwd: root })]
  return pages.flatMap((page) => tablesOf(page, readFileSync(join(root, page), 'utf8')))
}

export function tablesOf(page: string, text: string): MarkdownTable[] {
  const tables: MarkdownTable[] = []
  const lines = text.split('\n')
  const counts = new Map<string, number>()
  let heading = ''
  let isCode = false
  for (const [index, line] of lines.entries()) {
    if (/^ *```/.test(line)) isCode = !isCode
    if (isCode) continue
    heading = /^#+ (.*)$/.exec(line)?.[1] ?? heading
    if (!isDelimiter(line) || !lines[index - 1]?.startsWith('|') || isDelimiter(lines[index - 2])) continue
    const count = (counts.get(heading) ?? 0) + 1
    counts.set(heading, count)
    const end = lines.findIndex((other, at) => at > index && !other.startsWith('|'))
    tables.push({
      name: `${page}#${heading}${count > 1 ? ` ${count}` : ''}`,
      page,
      line: index,
      header: cellsOf(lines[index - 1] ?? ''),
      rows: lines.slice(index + 1, end < 0 ? undefined : end).map(cellsOf),
    })
  }
  return tables
}

function isDelimiter(line: string | undefined): boolean {
  return line !== undefined && /^\|(?: ?:?-+:? ?\|)+$/.test(line)
}

/** A pipe inside of a cell is written as `\|`. */
function cellsOf(line: string): string[] {
  return line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim())
}
