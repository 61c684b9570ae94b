import type { LeaseRecord } from '../core/index.ts'
import { EXIT } from './exit-codes.ts'
import { asFailure } from './failure.ts'
import { leaseTable, NOTHING_HELD } from './lease-table.ts'
import type { LeaseChange } from './live-leases.ts'
import { alignColumns, printable, type Terminal } from './terminal.ts'

const REDRAW_EVERY_MS = 1000
/** Many changes at once are one redraw. */
const REDRAW_AFTER_MS = 50
const RECENT = 8

const COLOURS = {
  held: 'green',
  renewed: 'green',
  released: 'dim',
  expired: 'yellow',
  'taken-over': 'red',
} as const

/** Another screen, no cursor, no wrapping of long lines; and back. */
const ENTER = '\x1b[?1049h\x1b[?25l\x1b[?7l'
const LEAVE = '\x1b[?7h\x1b[?25h\x1b[?1049l'
const HOME = '\x1b[H'
const CLEAR_LINE = '\x1b[K'
const CLEAR_BELOW = '\x1b[J'
/** Ctrl-C and Ctrl-D are keys like others while the terminal is raw. */
const QUIT_KEYS = ['q', '\x03', '\x04']

export interface Screen {
  note(change: LeaseChange): void
  trouble(error: unknown): void
  /** Draws the table again and again; resolves with the exit code when the user has seen enough. */
  show(leases: () => readonly LeaseRecord[]): Promise<number>
  close(): void
}

export function openScreen(terminal: Terminal, title: string): Screen {
  const recent: string[][] = []
  let current: () => readonly LeaseRecord[] = () => []
  let problem = ''
  let isShown = false
  let soon: NodeJS.Timeout | undefined
  const draw = () => {
    clearTimeout(soon)
    soon = undefined
    const lines = page(terminal, title, current(), recent, problem).slice(0, terminal.rows)
    terminal.write(HOME + lines.map((line) => `${line}${CLEAR_LINE}`).join('\r\n') + CLEAR_BELOW)
  }
  const every = setInterval(draw, REDRAW_EVERY_MS)
  const drawSoon = () => {
    soon ??= setTimeout(draw, REDRAW_AFTER_MS)
  }
  process.stdout.on('resize', draw)
  terminal.write(ENTER)

  return {
    note({ type, lease }) {
      problem = ''
      // What was held before is in the table, and no news.
      if (isShown && type !== 'renewed')
        recent.unshift([
          clockTime(),
          terminal.style(COLOURS[type], type),
          printable(lease.resource),
          printable(lease.owner),
        ])
      recent.length = Math.min(recent.length, RECENT)
      drawSoon()
    },
    trouble(error) {
      problem = asFailure(error).message
      drawSoon()
    },
    show(leases) {
      current = leases
      isShown = true
      draw()
      return untilQuit()
    },
    close() {
      clearInterval(every)
      clearTimeout(soon)
      process.stdout.off('resize', draw)
      if (process.stdin.isTTY) process.stdin.setRawMode(false)
      terminal.write(LEAVE)
    },
  }
}

function page(
  terminal: Terminal,
  title: string,
  leases: readonly LeaseRecord[],
  recent: readonly (readonly string[])[],
  problem: string,
): string[] {
  const count = leases.length === 1 ? '1 lease' : `${leases.length} leases`
  const above = [
    `${terminal.style('bold', 'holdfast watch')}  ${title}  ${count}  ${terminal.style('dim', `${clockTime()}  q quits`)}`,
    ...(problem ? [terminal.style('red', problem)] : []),
    '',
  ]
  const below = recent.length > 0 ? ['', terminal.style('dim', 'RECENT'), ...alignColumns(recent)] : []
  return [...above, ...table(leases, terminal, terminal.rows - above.length - below.length), ...below]
}

/** In at most so many lines. */
function table(leases: readonly LeaseRecord[], terminal: Terminal, lines: number): string[] {
  if (leases.length === 0) return [NOTHING_HELD]
  const all = leaseTable(leases, terminal)
  if (all.length <= lines) return all
  const shown = Math.max(1, lines - 1)
  return [...all.slice(0, shown), terminal.style('dim', `… and ${all.length - shown} more`)]
}

function clockTime(): string {
  return new Date().toTimeString().slice(0, 8)
}

function untilQuit(): Promise<number> {
  return new Promise((resolve) => {
    if (!process.stdin.isTTY) return
    process.stdin.setRawMode(true)
    process.stdin.on('data', (keys) => {
      if (QUIT_KEYS.some((key) => keys.toString().includes(key))) resolve(EXIT.ok)
    })
  })
}
