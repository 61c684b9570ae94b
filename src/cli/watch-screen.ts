import type { LeaseRecord } from '../base/records.ts'
import type { WaitingQuery, WaitingQueue } from '../core/index.ts'
import { EXIT } from './exit-codes.ts'
import { asFailure } from './failure.ts'
import type { LeaseChange } from './live-leases.ts'
import { REDRAW_AFTER_MS, REDRAW_EVERY_MS } from './options.ts'
import { signalExitCode } from './signals.ts'
import { printable, type Terminal } from './terminal.ts'
import { WatchView } from './watch-view.ts'

/** Switch to the second screen of the terminal, without cursor and line wrapping, and back. */
const ENTER = '\x1b[?1049h\x1b[?25l\x1b[?7l'
const LEAVE = '\x1b[?7h\x1b[?25h\x1b[?1049l'
const HOME = '\x1b[H'
const CLEAR_LINE = '\x1b[K'
const CLEAR_BELOW = '\x1b[J'
const ESCAPE = '\x1b'
/** In the raw mode of the terminal, it sends no signal. */
const CTRL_C = '\x03'
/** Keys that arrive together: an escape sequence is one key. */
const KEY = new RegExp(`${ESCAPE}\\[[A-Z]|.`, 'gsu')

export interface ScreenOptions {
  readonly leases: () => readonly LeaseRecord[]
  /** Resolves with whether the lease was still there. */
  readonly release: (lease: LeaseRecord) => Promise<boolean>
  /** The waiting callers. Empty: the store keeps no queue. */
  readonly waiting: (query: WaitingQuery) => Promise<readonly WaitingQueue[]>
}

export interface Screen {
  addChange(change: LeaseChange): void
  showProblem(error: unknown): void
  /** Redraws until the user quits. Resolves with the exit code. */
  showUntilQuit(options: ScreenOptions): Promise<number>
  close(): void
}

export function openScreen(terminal: Terminal, title: string): Screen {
  const view = new WatchView(title)
  let current: () => readonly LeaseRecord[] = () => []
  let isShown = false
  let isClosed = false
  let redraw: NodeJS.Timeout | undefined
  const draw = () => {
    // A late answer must not draw over what the terminal showed before.
    if (isClosed) return
    clearTimeout(redraw)
    redraw = undefined
    const lines = view.draw(current(), terminal, new Date())
    // Cleared before it is drawn: after a full line the cursor stands on its last character.
    const drawn = lines.map((line) => `${CLEAR_LINE}${line}`).join('\r\n')
    // On the last line of the terminal, a line break would scroll.
    const rest = lines.length < terminal.rows ? `\r\n${CLEAR_BELOW}` : ''
    terminal.write(HOME + drawn + rest)
  }
  let waiting: ScreenOptions['waiting'] = async () => []
  const interval = setInterval(() => {
    draw()
    void readWaiters()
  }, REDRAW_EVERY_MS)
  const drawSoon = () => {
    redraw ??= setTimeout(draw, REDRAW_AFTER_MS)
  }
  process.stdout.on('resize', draw)
  terminal.write(ENTER)
  // Also if an error ends the process, the terminal is as before.
  process.on('exit', close)

  return {
    addChange(change) {
      // Leases that were held at the start are in the table already.
      if (isShown) view.addChange(change, new Date())
      drawSoon()
    },
    showProblem,
    showUntilQuit({ leases, release, ...options }) {
      current = leases
      waiting = options.waiting
      isShown = true
      draw()
      void readWaiters()
      return new Promise((resolve) => {
        if (!process.stdin.isTTY) return
        process.stdin.setRawMode(true)
        process.stdin.on('data', (keys) => {
          for (const [key] of keys.toString().matchAll(KEY)) {
            const effect = view.press(key, leases())
            if (effect?.type === 'quit') resolve(key === CTRL_C ? signalExitCode('SIGINT') : EXIT.ok)
            if (effect?.type === 'release') void end(effect.lease, release)
          }
          draw()
          void readWaiters()
        })
      })
    },
    close,
  }

  function close(): void {
    if (isClosed) return
    isClosed = true
    process.off('exit', close)
    clearInterval(interval)
    clearTimeout(redraw)
    process.stdout.off('resize', draw)
    if (process.stdin.isTTY) process.stdin.setRawMode(false)
    terminal.write(LEAVE)
  }

  function showProblem(error: unknown): void {
    view.showProblem(asFailure(error).message)
    drawSoon()
  }

  /** Those who wait for the resources that are drawn. */
  async function readWaiters(): Promise<void> {
    const query = view.waitingQuery
    try {
      if (query.resources.length > 0) view.showWaiters(query, await waiting(query))
      drawSoon()
    } catch (error) {
      showProblem(error)
    }
  }

  async function end(lease: LeaseRecord, release: ScreenOptions['release']): Promise<void> {
    const name = printable(lease.resource)
    try {
      const wasHeld = await release(lease)
      view.showMessage(wasHeld ? `${name} was released.` : `The lease of ${name} had ended before.`)
    } catch (error) {
      showProblem(error)
    }
    drawSoon()
  }
}
