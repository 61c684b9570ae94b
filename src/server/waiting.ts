import { WakeSignal } from '../base/wake-signal.ts'
import type { Answer, Ask, Clock, LeaseStore } from '../core/index.ts'

export interface Patience {
  readonly store: LeaseStore
  readonly clock: Clock
  /** Milliseconds. */
  readonly wait: number
  /** Ends the wait early; the place in line is given up. */
  readonly signal: AbortSignal
  /** It was refused, and waits. */
  readonly onStanding: () => void
}

/** A push may be lost, and some stores have none. */
const POLL_BEHIND_PUSH_MS = 5000
const POLL_MS = 500

/**
 * Asks until it is granted or the wait is over; then it still has its place in line. The asker is a remote browser
 * that renews by itself, so no manager beats for it; asking again with the same id keeps the place in line, and
 * claims what was kept for it.
 */
export async function askInTime(ask: Ask, patience: Patience): Promise<Answer> {
  const { store, clock, wait, signal, onStanding } = patience
  const giveUpAt = clock.monotonic() + wait
  const bell = new WakeSignal(clock)
  const asking = store.supports.queue ? { ...ask, wake: (inMs: number) => bell.wake(inMs) } : ask
  const poll = store.supports.push ? POLL_BEHIND_PUSH_MS : POLL_MS
  try {
    for (;;) {
      bell.reset()
      const answer = await store.acquire(asking)
      // The party has it, whichever of its requests was first to know.
      if (answer.granted && signal.reason instanceof Superseded) return answer
      signal.throwIfAborted()
      const left = giveUpAt - clock.monotonic()
      if (answer.granted || left < 1) return answer
      onStanding()
      await bell.sleep(Math.min(answer.retryIn ?? poll, poll, left), signal)
    }
  } catch (error) {
    // Whatever it has left behind: a place, a reservation, a grant that came when nobody waited for it any more.
    if (!(error instanceof Superseded)) store.release({ resource: ask.resource, id: ask.id }).catch(() => {})
    throw error
  }
}

/** The party has given up what it asked for: its place, and whatever the request is granted, is given up. */
export class Withdrawn extends Error {
  override readonly name = 'Withdrawn'
}

/** Another request of the same party waits, or was granted, in its place, with the same id: nothing is given up. */
export class Superseded extends Error {
  override readonly name = 'Superseded'
}
