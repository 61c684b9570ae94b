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

/** The second screen of the terminal, which shows the leases until the user quits. */
export class Screen {
  readonly #terminal: Terminal
  readonly #view: WatchView
  #options: ScreenOptions | undefined
  #isClosed = false
  #redraw: NodeJS.Timeout | undefined
  readonly #interval: NodeJS.Timeout

  constructor(terminal: Terminal, title: string) {
    this.#terminal = terminal
    this.#view = new WatchView(title)
    this.#interval = setInterval(() => this.#refresh(), REDRAW_EVERY_MS)
    process.stdout.on('resize', this.#draw)
    terminal.write(ENTER)
    // Also if an error ends the process, the terminal is as before.
    process.on('exit', this.close)
  }

  addChange(change: LeaseChange): void {
    // Leases that were held at the start are in the table already.
    if (this.#options) this.#view.addChange(change, new Date())
    this.#drawSoon()
  }

  showProblem(error: unknown): void {
    this.#view.showProblem(asFailure(error).message)
    this.#drawSoon()
  }

  /** Redraws until the user quits. Resolves with the exit code. */
  showUntilQuit(options: ScreenOptions): Promise<number> {
    this.#options = options
    this.#refresh()
    return new Promise((resolve) => {
      if (!process.stdin.isTTY) return
      process.stdin.setRawMode(true)
      process.stdin.on('data', (keys) => {
        for (const [key] of keys.toString().matchAll(KEY)) {
          const effect = this.#view.press(key, options.leases())
          if (effect?.type === 'quit') resolve(key === CTRL_C ? signalExitCode('SIGINT') : EXIT.ok)
          if (effect?.type === 'release') void this.#release(effect.lease, options)
        }
        this.#refresh()
      })
    })
  }

  readonly close = (): void => {
    if (this.#isClosed) return
    this.#isClosed = true
    process.off('exit', this.close)
    clearInterval(this.#interval)
    clearTimeout(this.#redraw)
    process.stdout.off('resize', this.#draw)
    if (process.stdin.isTTY) process.stdin.setRawMode(false)
    this.#terminal.write(LEAVE)
  }

  readonly #draw = (): void => {
    // A late answer must not draw over what the terminal showed before.
    if (this.#isClosed) return
    clearTimeout(this.#redraw)
    this.#redraw = undefined
    const lines = this.#view.draw(this.#options?.leases() ?? [], this.#terminal, new Date())
    // Cleared before it is drawn: after a full line the cursor stands on its last character.
    const drawn = lines.map((line) => `${CLEAR_LINE}${line}`).join('\r\n')
    // On the last line of the terminal, a line break would scroll.
    const rest = lines.length < this.#terminal.rows ? `\r\n${CLEAR_BELOW}` : ''
    this.#terminal.write(HOME + drawn + rest)
  }

  #drawSoon(): void {
    this.#redraw ??= setTimeout(this.#draw, REDRAW_AFTER_MS)
  }

  #refresh(): void {
    this.#draw()
    void this.#readWaiters()
  }

  /** Those who wait for the resources that are drawn. */
  async #readWaiters(): Promise<void> {
    const query = this.#view.waitingQuery
    try {
      if (this.#options && query.resources.length > 0)
        this.#view.showWaiters(query, await this.#options.waiting(query))
      this.#drawSoon()
    } catch (error) {
      this.showProblem(error)
    }
  }

  async #release(lease: LeaseRecord, { release }: ScreenOptions): Promise<void> {
    const name = printable(lease.resource)
    try {
      const wasHeld = await release(lease)
      this.#view.showMessage(wasHeld ? `${name} was released.` : `The lease of ${name} had ended before.`)
    } catch (error) {
      this.showProblem(error)
    }
    this.#drawSoon()
  }
}
