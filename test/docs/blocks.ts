/**
 * The code blocks of the pages, as CONTRIBUTING.md describes them:
 *
 *     ```<language> [serve|page|test] [file: <path>] [no-run: <reason>]
 *
 * A comment `<!-- preamble … -->` directly before a block folds away lines that the page has shown before.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/run-tool.ts'

export type Language = 'ts' | 'tsx' | 'js' | 'sh'
/** How a block is run. A `program` must end by itself. */
export type Role = 'program' | 'serve' | 'page' | 'test'

/** A block that is compiled and run. */
export interface Block {
  readonly page: string
  /** The line of the page with the info string. */
  readonly line: number
  readonly language: Language
  readonly role: Role
  /** The path that the block has in the reader's project, if the page names one. */
  readonly file?: string
  /** Why the block is only compiled. */
  readonly noRun?: string
  /** What the page has shown before and does not repeat. Empty, or complete lines. */
  readonly preamble: string
  readonly code: string
  /** What earlier blocks of the page have put into the reader's project: texts by path. */
  readonly files: ReadonlyMap<string, string>
  /** The last server that the page has started, if this block calls it: it stays up until this block has ended. */
  readonly server?: Block
}

const LANGUAGES: readonly string[] = ['ts', 'tsx', 'js', 'sh'] satisfies Language[]
/** Pictures, output and texts that nothing here can run. */
const OTHER_LANGUAGES = ['', 'json', 'sql', 'toml', 'ini', 'php', 'html', 'yaml']
const ROLES: readonly string[] = ['serve', 'page', 'test'] satisfies Role[]

/** A `serve` block with such a text is a server of Holdfast or protected by it, and a program with its port calls it. */
const HOLDFAST_SERVER = /createServer|createLockServer|holdfast serve|holdfast\/idempotency/
const HOLDFAST_PORT = /\b4321\b/

const SAME = ': same'
const INFO = /^(?<language>\S*)(?: (?<role>\w+))??(?: file: (?<file>\S+))?(?: no-run: (?<noRun>.+))?$/

/** Without those in Japanese, which have the same programs: `test/package/japanese.test.ts`. */
export function pages(): string[] {
  return globSync(['README.md', 'docs/**/*.md'], { cwd: root, exclude: ['docs/ja/**'] }).sort()
}

/** The programs of a page of docs/migrations that must print the same: with the other library, and with this one. */
export function isMigration({ page, file = '' }: Block): boolean {
  return page.startsWith('docs/migrations/') && /^(before|after)\.ts$/.test(file)
}

export function blocksOfPage(page: string): Block[] {
  return blocksOf(page, readFileSync(join(root, page), 'utf8'))
}

/** The blocks of a page that are compiled and run. Throws if the page breaks the convention. */
export function blocksOf(page: string, text: string): Block[] {
  const blocks: Block[] = []
  const files = new Map<string, string>()
  const shown = new Set<string>()
  let lastPreamble = ''
  for (const fence of fencesOf(page, text)) {
    const where = `${page}:${fence.line}`
    const { language, role, file, noRun } = parseInfo(fence.info, where)
    const preamble = fence.preamble === SAME ? lastPreamble : (fence.preamble ?? '')
    lastPreamble = preamble || lastPreamble
    for (const line of preamble.split('\n'))
      if (!shown.has(line.trim()) && line.trim())
        throw new Error(`${where}: the page has not shown this line of the preamble: ${line.trim()}`)
    for (const line of fence.code.split('\n')) shown.add(line.trim())
    const server =
      ['program', 'page'].includes(role) && HOLDFAST_PORT.test(fence.code) && blocks.findLast(isServer)
    if (isLanguage(language))
      blocks.push({
        ...{ page, line: fence.line, language, role, preamble, code: fence.code, files: new Map(files) },
        ...(file && { file }),
        ...(noRun && { noRun }),
        ...(server && { server }),
      })
    if (file) files.set(file, preamble + fence.code)
  }
  return blocks
}

/** The code of the block of a page that has this path in the reader's project. */
export function codeOf(page: string, file: string): string {
  const block = blocksOfPage(page).find((candidate) => candidate.file === file)
  if (!block) throw new Error(`${page} has no block \`file: ${file}\``)
  return block.preamble + block.code
}

/** The program of a block, with each line of the block at its line of the page. */
export function programOf({ line, preamble, code }: Block): string {
  return '\n'.repeat(line - (preamble.split('\n').length - 1)) + preamble + code
}

export function titleOf({ page, line }: Block): string {
  return `${page}:${line}`
}

interface Fence {
  readonly line: number
  readonly info: string
  readonly preamble?: string
  readonly code: string
}

function fencesOf(page: string, text: string): Fence[] {
  const fences: Fence[] = []
  const lines = text.split('\n')
  let preamble: string | undefined
  for (let index = 0; index < lines.length; index++) {
    const [, indent = '', info] = /^( *)```(.*)$/.exec(lines[index] ?? '') ?? []
    if (info !== undefined) {
      const end = lines.indexOf(`${indent}\`\`\``, index + 1)
      if (end < 0) throw new Error(`${page}:${index + 1}: the block does not end`)
      const code = textOf(lines.slice(index + 1, end), indent)
      fences.push({ line: index + 1, info: info.trim(), code, ...(preamble !== undefined && { preamble }) })
      index = end
      preamble = undefined
    } else if (/^ *<!-- preamble/.test(lines[index] ?? '')) {
      const end = lines.findIndex((line, at) => at >= index && line.endsWith('-->'))
      if (!/^ *```/.test(lines[end + 1] ?? ''))
        throw new Error(`${page}:${index + 1}: a preamble must stand directly before its block`)
      const same = lines[index]?.trim() === '<!-- preamble: same -->'
      preamble = same ? SAME : textOf(lines.slice(index + 1, end), '')
      index = end
    }
  }
  return fences
}

function textOf(lines: readonly string[], indent: string): string {
  return lines.map((line) => `${line.startsWith(indent) ? line.slice(indent.length) : line}\n`).join('')
}

function parseInfo(info: string, where: string) {
  const { language = '', role, file, noRun } = INFO.exec(info)?.groups ?? { role: info }
  const known = isLanguage(language) || OTHER_LANGUAGES.includes(language)
  if (!known || (role && !ROLES.includes(role)) || (role && !isLanguage(language)))
    throw new Error(`${where}: unknown words after \`\`\`: ${info}`)
  return { language, role: (role ?? 'program') as Role, file, noRun }
}

function isServer({ role, noRun, code }: Block): boolean {
  return role === 'serve' && noRun === undefined && HOLDFAST_SERVER.test(code)
}

function isLanguage(language: string): language is Language {
  return LANGUAGES.includes(language)
}
