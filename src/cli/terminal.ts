import { systemClock } from '../base/clock.ts'
import { redactText } from '../base/redact.ts'
import { EXIT } from './exit-codes.ts'
import { COLUMN_GAP, DEFAULT_COLUMNS, DEFAULT_ROWS } from './options.ts'
import { ProgressLine } from './progress-line.ts'
import { signalExitCode } from './signals.ts'

// Not imported, for the same reason as in `arguments.ts`.
const { stripVTControlCharacters } = process.getBuiltinModule('node:util')

type Style = 'bold' | 'dim' | 'green' | 'yellow' | 'red'

const CODES: Readonly<Record<Style, readonly [on: number, off: number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  green: [32, 39],
  yellow: [33, 39],
  red: [31, 39],
}

export interface RemarkDetails {
  /** The kind of remark. Default `remark`. */
  readonly type?: string
  readonly [detail: string]: unknown
}

/** Prints the results of a command on standard output, and its remarks on standard error. */
export interface Terminal {
  /** Standard output is a terminal, so a person reads it: print tables and colours. */
  readonly isInteractive: boolean
  /** A person also sees standard error, and `step` shows a line there. */
  readonly isWatched: boolean
  readonly columns: number
  readonly rows: number
  /** A line of the result. */
  print(line: string): void
  /** Text of the result without a line break after it. It may move the cursor. */
  write(text: string): void
  /** A line on standard error. With `--json` it is a line of JSON, which also has the details. */
  remark(text: string, details?: RemarkDetails): void
  style(style: Style, text: string): string
  /** What the command does now, shown on a terminal while it takes longer than a second. Empty: it prints its result. */
  step(text: string): void
  /** From now on the command goes on when nobody reads its standard output. By default it exits then. */
  outliveReader(): void
}

export function openTerminal(env: NodeJS.ProcessEnv, isJson: boolean): Terminal {
  const { stdout, stderr } = process
  const { TERM, NO_COLOR } = env
  const isInteractive = stdout.isTTY === true && TERM !== 'dumb'
  const hasColours = isInteractive && !NO_COLOR
  const isWatched = isInteractive && stderr.isTTY === true && !isJson
  const progress = new ProgressLine((text) => void stderr.write(text), systemClock)
  // The reader of the pipe has ended, such as `head`: exit as a process does that SIGPIPE ends. Never with 0, because
  // the verdict of the command is not known yet.
  let onOutputError = ({ code, message }: NodeJS.ErrnoException): void => {
    if (code === 'EPIPE') process.exit(signalExitCode('SIGPIPE'))
    stderr.write(`holdfast: standard output cannot be written: ${message}\n`)
    process.exit(EXIT.failed)
  }
  stdout.on('error', (error) => onOutputError(error))
  // Without a listener, a closed standard error would end a command that runs.
  stderr.on('error', () => {})
  return {
    isInteractive,
    isWatched,
    get columns() {
      return stdout.columns || DEFAULT_COLUMNS
    },
    get rows() {
      return stdout.rows || DEFAULT_ROWS
    },
    print(line) {
      progress.clear()
      stdout.write(`${line}\n`)
    },
    write(text) {
      progress.clear()
      stdout.write(text)
    },
    step: (text) => isWatched && progress.show(text),
    outliveReader() {
      onOutputError = ({ message }) => {
        onOutputError = () => {}
        this.remark(`standard output cannot be written (${message}): log lines are lost, the command goes on`)
      }
    },
    remark(remarked, details) {
      progress.clear()
      const text = redactText(remarked)
      const remark = { at: new Date().toISOString(), type: 'remark', text, ...details }
      // The text may contain what others have written into the store. Some texts have several lines.
      const lines = text.split('\n').map(printable).join('\n')
      stderr.write(isJson ? `${JSON.stringify(remark)}\n` : `holdfast: ${lines}\n`)
    },
    style(style, text) {
      const [on, off] = CODES[style]
      return hasColours ? `\x1b[${on}m${text}\x1b[${off}m` : text
    },
  }
}

/** Makes each column as wide as its widest cell. Lines have no spaces at their end. */
export function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => widest(rows.map((row) => row[column] ?? '')))
  return rows.map((row) =>
    row
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - width(cell)))
      .join(' '.repeat(COLUMN_GAP))
      .trimEnd(),
  )
}

/** Cuts the text to this many columns, with `…` at its end. The text must not contain colours. */
export function cut(text: string, columns: number): string {
  if (width(text) <= columns) return text
  let kept = ''
  let used = 1
  for (const character of text) {
    used += width(character)
    if (used > columns) break
    kept += character
  }
  return columns > 0 ? `${kept}…` : ''
}

/** The text in lines of at most this many columns, broken at spaces where there are some. Empty text: no lines. */
export function wrapped(text: string, columns: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ').filter((part) => part !== '')) {
    const last = lines.at(-1)
    if (last !== undefined && width(`${last} ${word}`) <= columns) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(cut(word, columns))
  }
  return lines
}

/**
 * Shares the columns among cells that are wider together. A cell that needs less than its share keeps its width, and
 * the others get the rest.
 */
export function shareColumns(wanted: readonly number[], columns: number): number[] {
  const shares = wanted.map(() => 0)
  let left = columns
  const narrowestFirst = [...wanted.keys()].sort((a, b) => (wanted[a] ?? 0) - (wanted[b] ?? 0))
  for (const [done, index] of narrowestFirst.entries()) {
    const share = Math.max(0, Math.floor(left / (wanted.length - done)))
    shares[index] = Math.min(wanted[index] ?? 0, share)
    left -= shares[index]
  }
  return shares
}

/**
 * Control characters, and those that change the direction or the lines of a text or are invisible. The joiners are
 * parts of words and emoji in many scripts.
 */
const UNPRINTABLE = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** Replaces characters with which a text from elsewhere could control the terminal, or deceive its reader. */
export function printable(text: string): string {
  return stripVTControlCharacters(text).replace(UNPRINTABLE, '�')
}

/** Chinese, Japanese and Korean characters and emoji take two columns. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]|\p{Emoji_Presentation}/u

/** Marks that are drawn on the character before them, and joiners. */
const WITHOUT_WIDTH = /[\p{Mn}\p{Me}\p{Cf}]/u

/** The width of the widest text, of any number of them. */
export function widest(texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, width(text)), 0)
}

export function width(text: string): number {
  let columns = 0
  for (const character of stripVTControlCharacters(text))
    columns += WITHOUT_WIDTH.test(character) ? 0 : WIDE.test(character) ? 2 : 1
  return columns
}
