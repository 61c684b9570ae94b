/** Carries out records a moment after the last one was appended, so that a burst of writes changes the index once. */
import type { Clock } from '../base/clock.ts'
import { asLeaseError, LeaseError } from '../base/errors.ts'
import type { Warn } from './warnings.ts'
import type { Outcome } from './writer.ts'

const IDLE_MS = 100
const LONGEST_WAIT_MS = 1000
const RETRY_MS = 1000

export interface Schedule {
  /** There are records to carry out. `now`: somebody waits for it. */
  soon(now?: boolean): void
  /** Carries out what is scheduled, without waiting. */
  finish(): Promise<void>
  cancel(): void
}

/** Without `carryOut` nothing is ever done: this context leaves it to others. */
export function createSchedule(
  carryOut: (() => Promise<Outcome>) | undefined,
  clock: Clock,
  warn: Warn,
): Schedule {
  let cancelTimer: (() => void) | undefined
  let latest = 0
  /** Attempts in a row that failed. */
  let failures = 0

  return {
    soon(now = false) {
      if (!carryOut) return
      if (!cancelTimer) latest = clock.monotonic() + LONGEST_WAIT_MS
      // Contexts that wait for the same records do not all ask for the lock at the same moment.
      const idleMs = Math.min(IDLE_MS * (1 + clock.random()), latest - clock.monotonic())
      start(now ? 0 : idleMs)
    },
    async finish() {
      if (cancelTimer) await run()
    },
    cancel,
  }

  function start(ms: number): void {
    cancel()
    cancelTimer = clock.setTimer(() => void run(), ms, true)
  }

  function cancel(): void {
    cancelTimer?.()
    cancelTimer = undefined
  }

  async function run(): Promise<void> {
    cancel()
    try {
      const outcome = await carryOut?.()
      for (const answer of outcome?.answers.values() ?? [])
        if (answer instanceof LeaseError && answer.retryable) throw answer
      failures = 0
    } catch (error) {
      const { code, message, retryable } = asLeaseError(error)
      if (code === 'closed') return
      if (!retryable || failures++ === 0)
        warn(code === 'other-format' ? code : 'write-postponed', message, error)
      if (retryable) start(RETRY_MS)
    }
  }
}
