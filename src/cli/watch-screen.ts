import type { LeaseRecord } from '../base/records.ts'
import { leaseTable, NOTHING_HELD } from './describe-lease.ts'
import { EXIT } from './exit-codes.ts'
import { asFailure } from './failure.ts'
import type { LeaseChange } from './live-leases.ts'
import { alignColumns, printable, type Terminal } from './terminal.ts'

const REDRAW_EVERY_MS = 1000
/** Collects changes that come together into one redraw. */
const REDRAW_AFTER_MS = 50
const RECENT_SHOWN = 8

const COLOURS = {
  held: 'green',
  renewed: 'green',
  released: 'dim',
  expired: 'yellow',
  'taken-over': 'red',
} as const

/** Switch to the second screen of the terminal, without cursor and line wrapping, and back. */
const ENTER = '\x1b[?1049h\x1b[?25l\x1b[?7l'
const LEAVE = '\x1b[?7h\x1b[?25h\x1b[?1049l'
const HOME = '\x1b[H'
const CLEAR_LINE = '\x1b[K'
const CLEAR_BELOW = '\x1b[J'
/** A raw terminal sends Ctrl-C and Ctrl-D as ordinary keys. */
const QUIT_KEYS = ['q', '\x03', '\x04']

export interface Screen {
  addChange(change: LeaseChange): void
  showProblem(error: unknown): void
  /** Redraws the table until the user presses a key that quits. Resolves with the exit code. */
  showUntilQuit(leases: () => readonly LeaseRecord[]): Promise<number>
  close(): void
}

export function openScreen(terminal: Terminal, title: string): Screen {
  const recent: string[][] = []
  let current: () => readonly LeaseRecord[] = () => []
  let problem = ''
  let isShown = false
  let redraw: NodeJS.Timeout | undefined
  const draw = () => {
    clearTimeout(redraw)
    redraw = undefined
    const lines = page(terminal, title, current(), recent, problem).slice(0, terminal.rows)
    terminal.write(HOME + lines.map((line) => `${line}${CLEAR_LINE}`).join('\r\n') + CLEAR_BELOW)
  }
  const interval = setInterval(draw, REDRAW_EVERY_MS)
  const drawSoon = () => {
    redraw ??= setTimeout(draw, REDRAW_AFTER_MS)
  }
  process.stdout.on('resize', draw)
  terminal.write(ENTER)

  return {
    addChange({ type, lease }) {
      problem = ''
      // Leases that were held at the start are in the table already.
      if (isShown && type !== 'renewed')
        recent.unshift([
          clockTime(),
          terminal.style(COLOURS[type], type),
          printable(lease.resource),
          printable(lease.owner),
        ])
      recent.length = Math.min(recent.length, RECENT_SHOWN)
      drawSoon()
    },
    showProblem(error) {
      problem = asFailure(error).message
      drawSoon()
    },
    showUntilQuit(leases) {
      current = leases
      isShown = true
      draw()
      return untilQuit()
    },
    close() {
      clearInterval(interval)
      clearTimeout(redraw)
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

/** The table, cut if it has more than `maxLines`. */
function table(leases: readonly LeaseRecord[], terminal: Terminal, maxLines: number): string[] {
  if (leases.length === 0) return [NOTHING_HELD]
  const all = leaseTable(leases, terminal)
  if (all.length <= maxLines) return all
  const shown = Math.max(1, maxLines - 1)
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
