import type { Clock } from '../base/clock.ts'
import { LeaseError } from '../base/errors.ts'
import { WakeSignal } from '../base/wake-signal.ts'
import type { Answer, Ask, LeaseStore } from '../core/index.ts'
import type { Person } from '../protocol/index.ts'
import type { WaitingList } from './waiting-list.ts'

export interface WaitingRequestsOptions {
  readonly store: LeaseStore
  readonly clock: Clock
  readonly waitingList: WaitingList
  /** How long a client was in the queue before its grant, over all requests that kept the place. */
  readonly onWaited: (ms: number) => void
}

export interface Wait {
  readonly room: string
  readonly person: Person
  /** Milliseconds. */
  readonly ms: number
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal
}

/** How long a place is kept after a request has ended without a grant, so that the client may repeat it. */
const KEEP_PLACE_MS = 3000
/** Waiters also poll: a push may be lost, and some stores have none. */
const POLL_BEHIND_PUSH_MS = 5000
const POLL_MS = 500
/** The pause before a store that is away is asked again. */
const RETRY_MS = 500

/** Another request with the same id waits in place of this one, or was granted. So nothing is released. */
export class Superseded extends Error {
  override readonly name = 'Superseded'
}

/** The client has withdrawn its request. Its place, and whatever the request is granted, is released. */
export class Withdrawn extends Error {
  override readonly name = 'Withdrawn'
}

/**
 * The requests that wait at this node. A place in the queue belongs to an id. So a later request with the same id
 * supersedes the earlier one, and a request soon after the end of another continues in its place.
 */
export class WaitingRequests {
  readonly #options: WaitingRequestsOptions
  readonly #waiting = new Map<string, AbortController>()
  /** By id: cancels the timer that gives up the place. */
  readonly #keptPlaces = new Map<string, () => void>()

  constructor(options: WaitingRequestsOptions) {
    this.#options = options
  }

  /** Asks until it is granted or the wait is over. */
  async acquire(ask: Ask, wait: Wait): Promise<Answer> {
    const { clock, waitingList, onWaited } = this.#options
    const { room } = wait
    const { id } = ask
    const askedAt = clock.now()
    this.#waiting.get(id)?.abort(new Superseded())
    this.#stopKeeping(id)
    const superseded = new AbortController()
    this.#waiting.set(id, superseded)
    let keepsPlace = false
    try {
      const answer = await this.#askRepeatedly(ask, wait, superseded.signal)
      keepsPlace = !answer.granted
      // A clock that was set back counts as no wait.
      if (answer.granted) onWaited(Math.max(0, clock.now() - (waitingList.since(room, id) ?? askedAt)))
      return answer
    } finally {
      // A request that was superseded leaves the place to its successor.
      if (this.#waiting.get(id) === superseded) {
        this.#waiting.delete(id)
        if (keepsPlace) this.#keepPlace(ask, room)
        else waitingList.leave(room, id)
      }
    }
  }

  /**
   * The client has the lock, or waits for it at another node. A request of it that still waits here must not release
   * that when it ends.
   */
  supersede(room: string, id: string): void {
    this.#waiting.get(id)?.abort(new Superseded())
    this.forget(room, id)
  }

  /** The client gives up. Its request that waits here ends too, so that nothing is granted to nobody later. */
  withdraw(room: string, id: string): void {
    this.#waiting.get(id)?.abort(new Withdrawn())
    this.forget(room, id)
  }

  /** The place that was kept for the id is gone, or not needed any more. */
  forget(room: string, id: string): void {
    if (this.#stopKeeping(id)) this.#options.waitingList.leave(room, id)
  }

  /**
   * No manager renews the lease, because the holder is a remote browser that does so itself. Asking again with the
   * same id keeps the place in the queue, and claims the reservation.
   */
  async #askRepeatedly(ask: Ask, wait: Wait, superseded: AbortSignal): Promise<Answer> {
    const { store, clock, waitingList } = this.#options
    const { room, person, ms } = wait
    const signal = AbortSignal.any([wait.signal, superseded])
    const giveUpAt = clock.monotonic() + ms
    const wakeSignal = new WakeSignal(clock)
    const asking = store.supports.queue ? { ...ask, wake: (inMs: number) => wakeSignal.wake(inMs) } : ask
    const pollMs = store.supports.push ? POLL_BEHIND_PUSH_MS : POLL_MS
    try {
      for (;;) {
        wakeSignal.reset()
        const answer = await store.acquire(asking).catch((error: unknown) => {
          signal.throwIfAborted()
          // While the store is away, the wait goes on.
          if (isRetryable(error) && giveUpAt - clock.monotonic() >= 1) return null
          throw error
        })
        if (!answer) {
          await wakeSignal.sleep(Math.min(RETRY_MS, giveUpAt - clock.monotonic()), signal)
          continue
        }
        // The client has the lock, whichever of its requests got it.
        if (answer.granted && signal.reason instanceof Superseded) return answer
        signal.throwIfAborted()
        const leftMs = giveUpAt - clock.monotonic()
        if (answer.granted || leftMs < 1) return answer
        waitingList.join(room, ask.id, person)
        await wakeSignal.sleep(Math.min(answer.retryIn ?? pollMs, pollMs, leftMs), signal)
      }
    } catch (error) {
      // Releases whatever it has: a place, a reservation, or a grant that came too late. A server that stops waits for
      // it, because it waits for the answers to its requests.
      if (!(error instanceof Superseded))
        await store.release({ resource: ask.resource, id: ask.id }).catch(() => {})
      throw error
    }
  }

  #stopKeeping(id: string): boolean {
    this.#keptPlaces.get(id)?.()
    return this.#keptPlaces.delete(id)
  }

  #keepPlace({ resource, id }: Ask, room: string): void {
    const { store, clock, waitingList } = this.#options
    const giveUp = async () => {
      this.#keptPlaces.delete(id)
      waitingList.leave(room, id)
      const [[holder] = []] = await store.read([resource])
      if (holder?.id !== id) await store.release({ resource, id })
    }
    // If the release fails, the store skips the place when its turn comes.
    this.#keptPlaces.set(
      id,
      clock.setTimer(() => void giveUp().catch(() => {}), KEEP_PLACE_MS, true),
    )
  }
}

function isRetryable(error: unknown): boolean {
  return error instanceof LeaseError && error.retryable
}
