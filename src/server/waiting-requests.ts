import { onAbort } from '../base/abort.ts'
import type { Clock } from '../base/clock.ts'
import { LeaseError } from '../base/errors.ts'
import { POLL_BEHIND_PUSH_MS } from '../base/options.ts'
import { WakeSignal } from '../base/wake-signal.ts'
import type { Answer, Ask, LeaseStore } from '../core/index.ts'
import type { Person } from '../protocol/index.ts'
import { keyOf } from './announcer.ts'
import { KEEP_PLACE_MS, POLL_WAITERS_MS, RETRY_REQUEST_MS } from './options.ts'
import type { RoomQueues } from './room-queues.ts'

export interface WaitingRequestsOptions {
  readonly store: LeaseStore
  readonly clock: Clock
  readonly roomQueues: RoomQueues
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

/** Another request with the same id waits in place of this one, or was granted. So nothing is released. */
export class Superseded extends Error {
  override readonly name = 'Superseded'
}

/**
 * The server is stopping. The client may repeat the request, perhaps at another node. A waiter keeps its place in the
 * store for that. If it does not come, the store skips the place when its turn comes.
 */
export class Stopping extends Error {
  override readonly name = 'Stopping'
}

/** The client has withdrawn its request. Its place, and whatever the request is granted, is released. */
export class Withdrawn extends Error {
  override readonly name = 'Withdrawn'
  /** At another node, which releases the place. A release here could end a later lock of the same client. */
  readonly isElsewhere: boolean

  constructor(isElsewhere = false) {
    super()
    this.isElsewhere = isElsewhere
  }
}

interface WaitingRequest {
  readonly room: string
  readonly person: Person
  /** Wall time. */
  readonly since: number
  readonly stop: AbortController
}

/**
 * Five files know waiters, each for another question. This one keeps the requests for documents. `room-queues.ts` shows
 * the waiters of a room, of all nodes. `client-places.ts` has the places of programs, for which the store takes this node
 * for the waiter. `waiter-limits.ts` counts the requests of both. `queue-census.ts` asks the store for the waiters of
 * everything.
 *
 * The requests that wait at this node. A place in the queue belongs to an id. So a later request with the same id
 * supersedes the earlier one, and a request soon after the end of another continues in its place.
 */
export class WaitingRequests {
  readonly #options: WaitingRequestsOptions
  /** By id. */
  readonly #waiting = new Map<string, WaitingRequest>()
  /** By id. `cancel` stops the timer that gives up the place. */
  readonly #keptPlaces = new Map<string, { readonly waiting: WaitingRequest; readonly cancel: () => void }>()

  constructor(options: WaitingRequestsOptions) {
    this.#options = options
  }

  /** Asks until it is granted or the wait is over. */
  async acquire(ask: Ask, wait: Wait): Promise<Answer> {
    const { clock, roomQueues, onWaited } = this.#options
    const { room } = wait
    const { id } = ask
    const askedAt = clock.now()
    this.#waiting.get(id)?.stop.abort(new Superseded())
    this.#stopKeeping(id)
    const stop = new AbortController()
    const waiting = { room, person: wait.person, since: askedAt, stop }
    this.#waiting.set(id, waiting)
    const unlisten = onAbort(wait.signal, () => stop.abort(wait.signal.reason))
    let keepsPlace = false
    try {
      const answer = await this.#askRepeatedly(ask, wait, stop.signal)
      keepsPlace = !answer.granted
      // A clock that was set back counts as no wait.
      if (answer.granted) onWaited(Math.max(0, clock.now() - (roomQueues.since(room, id) ?? askedAt)))
      return answer
    } finally {
      unlisten()
      // A request that was superseded leaves the place to its successor.
      if (this.#waiting.get(id) === waiting) {
        this.#waiting.delete(id)
        if (keepsPlace) this.#keepPlace(ask, waiting)
        // Without a message to the other nodes, they show the client until it waits at one of them.
        else if (!(stop.signal.reason instanceof Stopping)) roomQueues.leave(room, id)
      }
    }
  }

  /**
   * The client has the lock, or waits for it at another node. A request of it that still waits here must not release
   * that when it ends.
   */
  supersede(room: string, id: string): void {
    this.#waiting.get(id)?.stop.abort(new Superseded())
    this.forget(room, id)
  }

  /** The client gives up. Its request that waits here ends too, so that nothing is granted to nobody later. */
  withdraw(room: string, id: string): void {
    this.#waiting.get(id)?.stop.abort(new Withdrawn())
    this.forget(room, id)
  }

  /** The same for a client that has given up at another node what it asked for before this time. */
  withdrawnElsewhere(room: string, person: Person, before: number): void {
    const isTheirs = (waiting: WaitingRequest) =>
      waiting.room === room && keyOf(waiting.person) === keyOf(person) && waiting.since < before
    for (const waiting of this.#waiting.values())
      if (isTheirs(waiting)) waiting.stop.abort(new Withdrawn(true))
    for (const [id, { waiting }] of this.#keptPlaces) if (isTheirs(waiting)) this.forget(room, id)
  }

  /** The place that was kept for the id is gone, or not needed any more. */
  forget(room: string, id: string): void {
    if (this.#stopKeeping(id)) this.#options.roomQueues.leave(room, id)
  }

  /** The places that are kept stay in the store: their clients may ask at another node, which this one will not hear. */
  stop(): void {
    for (const { cancel } of this.#keptPlaces.values()) cancel()
    this.#keptPlaces.clear()
  }

  /**
   * No manager renews the lease, because the holder is a remote browser that does so itself. Asking again with the
   * same id keeps the place in the queue, and claims the reservation.
   */
  async #askRepeatedly(ask: Ask, { room, person, ms }: Wait, signal: AbortSignal): Promise<Answer> {
    const { store, clock, roomQueues } = this.#options
    const giveUpAt = clock.monotonic() + ms
    const wakeSignal = new WakeSignal(clock)
    const asking = store.supports.queue ? { ...ask, wake: (inMs: number) => wakeSignal.wake(inMs) } : ask
    const pollMs = store.supports.push ? POLL_BEHIND_PUSH_MS : POLL_WAITERS_MS
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
          await wakeSignal.sleep(Math.min(RETRY_REQUEST_MS, giveUpAt - clock.monotonic()), signal)
          continue
        }
        // The client has the lock, whichever of its requests got it. A server that stops still answers.
        if (answer.granted && goesOn(signal.reason)) return answer
        if (answer.granted && isElsewhere(signal.reason))
          await store.release({ resource: ask.resource, token: answer.lease.token }).catch(() => {})
        signal.throwIfAborted()
        const leftMs = giveUpAt - clock.monotonic()
        if (answer.granted || leftMs < 1) return answer
        roomQueues.join(room, ask.id, person)
        await wakeSignal.sleep(Math.min(answer.retryIn ?? pollMs, pollMs, leftMs), signal)
      }
    } catch (error) {
      // Releases whatever it has: a place, a reservation, or a grant that came too late.
      if (!goesOn(error) && !isElsewhere(error))
        await store.release({ resource: ask.resource, id: ask.id }).catch(() => {})
      throw error
    }
  }

  #stopKeeping(id: string): boolean {
    this.#keptPlaces.get(id)?.cancel()
    return this.#keptPlaces.delete(id)
  }

  #keepPlace({ resource, id }: Ask, waiting: WaitingRequest): void {
    const { store, clock, roomQueues } = this.#options
    const { room } = waiting
    const giveUp = async () => {
      this.#keptPlaces.delete(id)
      roomQueues.leave(room, id)
      const [leases = []] = await store.read([resource])
      if (!leases.some((lease) => lease.id === id && lease.state === 'held'))
        await store.release({ resource, id })
    }
    // If the release fails, the store skips the place when its turn comes.
    const cancel = clock.setTimer(() => void giveUp().catch(() => {}), KEEP_PLACE_MS, true)
    this.#keptPlaces.set(id, { waiting, cancel })
  }
}

function isElsewhere(reason: unknown): boolean {
  return reason instanceof Withdrawn && reason.isElsewhere
}

/** Whether the place and the lease of the client must stay as they are. */
function goesOn(reason: unknown): boolean {
  return reason instanceof Superseded || reason instanceof Stopping
}

function isRetryable(error: unknown): boolean {
  return error instanceof LeaseError && error.retryable
}
