import { FakeClock } from '../src/testing/index.ts'

/** The clock of a process that was blocked: its timers are late by that time. */
export class BlockedClock extends FakeClock {
  blockedMs = 0

  override monotonic(): number {
    return super.monotonic() + this.blockedMs
  }
}
