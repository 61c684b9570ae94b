/** Carries out records a moment after the last one was appended, so that a burst of writes changes the index once. */

import type { Clock } from '../base/clock.ts'
import { IDLE_MS, LONGEST_WAIT_MS, RETRY_MS } from './rare-options.ts'
import type { Warn } from './warnings.ts'
import type { Outcome } from './writer.ts'
import type { WriterTools } from './writer-tools.ts'

export interface Schedule {
  /** There are records to carry out. `now`: somebody waits for it. */
  soon(now?: boolean): void
  /** Carries out what is scheduled, without waiting. */
  finish(): Promise<void>
}

export interface ScheduleOptions {
  readonly clock: Clock
  readonly warn: Warn
  /** Nothing is carried out after it. */
  readonly closing: AbortSignal
}

export function createSchedule(
  { LeaseError, asLeaseError }: WriterTools,
  carryOut: () => Promise<Outcome>,
  { clock, warn, closing }: ScheduleOptions,
): Schedule {
  let cancelTimer: (() => void) | undefined
  let latest = 0
  /** Attempts in a row that failed. */
  let failures = 0
  closing.addEventListener('abort', cancel)

  return {
    soon(now = false) {
      if (!cancelTimer) latest = clock.monotonic() + LONGEST_WAIT_MS
      // Contexts that wait for the same records do not all ask for the lock at the same moment.
      const idleMs = Math.min(IDLE_MS * (1 + clock.random()), latest - clock.monotonic())
      start(now ? 0 : idleMs)
    },
    async finish() {
      if (cancelTimer) await run()
    },
  }

  function start(ms: number): void {
    cancel()
    if (!closing.aborted) cancelTimer = clock.setTimer(() => void run(), ms, true)
  }

  function cancel(): void {
    cancelTimer?.()
    cancelTimer = undefined
  }

  async function run(): Promise<void> {
    cancel()
    try {
      for (const answer of (await carryOut()).answers.values())
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
