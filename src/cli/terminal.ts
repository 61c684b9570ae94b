import { stripVTControlCharacters } from 'node:util'

type Style = 'bold' | 'dim' | 'green' | 'yellow' | 'red'

const CODES: Readonly<Record<Style, readonly [on: number, off: number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  green: [32, 39],
  yellow: [33, 39],
  red: [31, 39],
}

export interface RemarkDetails {
  /** What kind of remark it is. Default `remark`. */
  readonly type?: string
  readonly [detail: string]: unknown
}

/** Where a command's results and remarks go. */
export interface Terminal {
  /** Standard output is a terminal: tables and colours are for people. */
  readonly isInteractive: boolean
  readonly columns: number
  readonly rows: number
  /** A line of the result. */
  print(line: string): void
  /** Text of the result that ends no line, or moves the cursor. */
  write(text: string): void
  /** A remark beside the result, on standard error; with `--json` a line of JSON, which has the details too. */
  remark(text: string, details?: RemarkDetails): void
  style(style: Style, text: string): string
}

export function openTerminal(env: NodeJS.ProcessEnv, isJson: boolean): Terminal {
  const { stdout, stderr } = process
  const { TERM, NO_COLOR } = env
  const isInteractive = stdout.isTTY === true && TERM !== 'dumb'
  const hasColours = isInteractive && !NO_COLOR
  // Whoever reads has seen enough, as `head` does; that is no failure.
  stdout.on('error', () => process.exit())
  // A remark that nobody reads must not end a command that runs.
  stderr.on('error', () => {})
  return {
    isInteractive,
    get columns() {
      return stdout.columns || 80
    },
    get rows() {
      return stdout.rows || 24
    },
    print: (line) => void stdout.write(`${line}\n`),
    write: (text) => void stdout.write(text),
    remark(text, details) {
      const fact = { at: new Date().toISOString(), type: 'remark', text, ...details }
      stderr.write(isJson ? `${JSON.stringify(fact)}\n` : `holdfast: ${text}\n`)
    },
    style(style, text) {
      const [on, off] = CODES[style]
      return hasColours ? `\x1b[${on}m${text}\x1b[${off}m` : text
    },
  }
}

/** Columns as wide as their widest cell; the last is as long as it is. */
export function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => width(row[column] ?? ''))))
  return rows.map((row) =>
    row
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - width(cell)))
      .join('  ')
      .trimEnd(),
  )
}

/** What came from elsewhere may hold control characters, which must not act on the terminal. */
export function printable(text: string): string {
  return stripVTControlCharacters(text).replace(/\p{Cc}/gu, '�')
}

/** Chinese, Japanese and Korean characters and emoji take two columns. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]|\p{Emoji_Presentation}/u

function width(text: string): number {
  let columns = 0
  for (const character of stripVTControlCharacters(text)) columns += WIDE.test(character) ? 2 : 1
  return columns
}
