import type { Clock } from '../../base/clock.ts'
import type { LeaseRecord } from '../../base/records.ts'
import { heldFor, timeLeft } from '../describe-lease.ts'
import { formatDuration } from '../format-duration.ts'
import { WAIT_LOGGED_EVERY_MS, WAIT_SHOWN_EVERY_MS } from '../options.ts'
import { printable, type Terminal } from '../terminal.ts'

export interface WaitReportOptions {
  readonly terminal: Pick<Terminal, 'isWatched' | 'step' | 'remark'>
  readonly clock: Clock
  readonly resource: string
  /** Reads who holds the resource now. */
  readonly look: () => Promise<readonly LeaseRecord[]>
}

/** Says who holds the lease, and for how long, while `run` waits for it. */
export class WaitReport {
  readonly #options: WaitReportOptions
  #startedAt: number | undefined
  #cancel = () => {}

  constructor(options: WaitReportOptions) {
    this.#options = options
  }

  /** Does nothing if it has started. */
  start(): void {
    if (this.#startedAt !== undefined) return
    this.#startedAt = this.#options.clock.monotonic()
    if (this.#options.terminal.isWatched) void this.#report()
    this.#reportLater()
  }

  stop(): void {
    this.#cancel()
    if (this.#startedAt !== undefined) this.#options.terminal.step('')
    this.#startedAt = undefined
  }

  #reportLater(): void {
    const { clock, terminal } = this.#options
    const ms = terminal.isWatched ? WAIT_SHOWN_EVERY_MS : WAIT_LOGGED_EVERY_MS
    this.#cancel = clock.setTimer(
      () => {
        void this.#report()
        this.#reportLater()
      },
      ms,
      true,
    )
  }

  async #report(): Promise<void> {
    const { terminal, clock, resource, look } = this.#options
    const holders = await look().catch(() => null)
    // The wait may be over.
    if (this.#startedAt === undefined) return
    const name = printable(resource)
    const who = holders ? holdersText(holders) : 'the store does not answer'
    if (terminal.isWatched) return terminal.step(`waiting for ${name}: ${who}`)
    const waitedMs = clock.monotonic() - this.#startedAt
    terminal.remark(`still waiting for ${name} after ${formatDuration(waitedMs)}: ${who}`, {
      type: 'waiting',
      resource,
      holders: holders?.map(({ owner }) => owner) ?? null,
      waitedMs: Math.round(waitedMs),
    })
  }
}

function holdersText([oldest, ...others]: readonly LeaseRecord[]): string {
  if (!oldest) return 'nobody holds it, another waiter is first'
  const more = others.length > 0 ? ` and ${others.length} more` : ''
  const owner = printable(oldest.owner)
  return oldest.state === 'kept'
    ? `kept by the last lease of ${owner}, ${timeLeft(oldest)} left`
    : `held by ${owner}${more} for ${heldFor(oldest)}, ${timeLeft(oldest)} left`
}
