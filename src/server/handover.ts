/**
 * Handing a lock from one holder to the next. The holder is told, and the request of the next one stays open:
 *
 *     takeover: told ──grace period over, or holder agrees──▶ replaced
 *     request:  told ──holder agrees──▶ replaced; holder declines ──▶ declined; no answer ──▶ as configured
 *
 * In both cases a lock that becomes free is taken. The holder's answer may arrive at another node, so it is sent over
 * the bus, and every node remembers which requests are open. Nothing is stored: if the request is aborted, nothing has
 * happened.
 */
import * as v from 'valibot'
import { onAbort } from '../base/abort.ts'
import type { Clock } from '../base/clock.ts'
import { randomId } from '../base/random-id.ts'
import type { LeaseRecord } from '../base/records.ts'
import type { Announcer } from './announcer.ts'
import type { Bus, BusMessage } from './bus.ts'
import { roomResource } from './identity.ts'
import type { LeaseFeed } from './lease-feed.ts'
import { setLimited } from './limited-map.ts'
import type { LockClient, LockResult, Locks } from './locks.ts'
import { Withdrawn } from './waiting-requests.ts'

const TOPIC = 'handover'
const MAX_OPEN = 10_000

/** What nodes tell each other: a holder's answer, or that a request is open for so long (0: it has ended). */
const message = v.union([
  v.object({ requestId: v.string(), token: v.number(), granted: v.boolean() }),
  v.object({ requestId: v.string(), token: v.number(), room: v.string(), openMs: v.number() }),
])

export interface HandoverOptions {
  readonly locks: Locks
  readonly feed: LeaseFeed
  readonly announcer: Announcer
  readonly bus: Bus
  readonly clock: Clock
  readonly grace: number
  readonly answerWithin: number
  readonly unanswered: 'decline' | 'grant'
}

type Outcome = 'granted' | 'declined' | 'freed' | 'unanswered'

interface PendingRequest {
  /** The id of the lease that the client wants. */
  readonly id: string
  readonly token: number
  withdraw(): void
  answered(granted: boolean): void
}

export class Handover {
  readonly #options: HandoverOptions
  readonly #pending = new Map<string, PendingRequest>()
  /** The requests of all nodes that were announced and have not ended: when their time is over. */
  readonly #open = new Map<string, number>()

  constructor(options: HandoverOptions) {
    this.#options = options
  }

  /** The holder cannot decline. It has the grace period to save. */
  async takeOver(room: string, client: LockClient, signal: AbortSignal): Promise<LockResult> {
    const { locks, grace } = this.#options
    const holder = await locks.holder(room)
    if (!holder || locks.isHolder(room, client, holder)) return locks.lock(room, client)
    await this.#askHolder(room, client, holder, 'takeover', grace, signal)
    return locks.lock(room, client, { replace: holder.token })
  }

  /** The holder decides. */
  async request(
    room: string,
    client: LockClient,
    signal: AbortSignal,
  ): Promise<LockResult | 'declined' | 'unanswered'> {
    const { locks, answerWithin, unanswered } = this.#options
    const holder = await locks.holder(room)
    if (!holder || locks.isHolder(room, client, holder)) return locks.lock(room, client)
    const outcome = await this.#askHolder(room, client, holder, 'request', answerWithin, signal)
    if (outcome === 'declined' || (outcome === 'unanswered' && unanswered === 'decline')) return outcome
    return locks.lock(room, client, { replace: holder.token })
  }

  /** The client gives up what it asked for. */
  withdraw(room: string, client: LockClient): void {
    const id = this.#options.locks.idOf(room, client)
    for (const pending of this.#pending.values()) if (pending.id === id) pending.withdraw()
  }

  /** Only the holder may answer, and only a request that is open. */
  async answer(
    room: string,
    client: LockClient,
    requestId: string,
    granted: boolean,
  ): Promise<'answered' | 'no-lock' | 'not-yours' | 'no-request'> {
    const { locks, bus, announcer, clock } = this.#options
    const holder = await locks.holder(room)
    if (!holder) return 'no-lock'
    if (!locks.isHolder(room, client, holder)) return 'not-yours'
    if ((this.#open.get(keyOf(room, requestId, holder.token)) ?? 0) <= clock.monotonic()) return 'no-request'
    await bus.publish({ topic: TOPIC, data: { requestId, token: holder.token, granted } })
    await announcer.publishToRoom('document.takeover-answered', {
      room_id: room,
      request_id: requestId,
      granted,
    })
    return 'answered'
  }

  receive({ topic, data }: BusMessage): void {
    if (topic !== TOPIC || !v.is(message, data)) return
    if ('granted' in data) {
      const pending = this.#pending.get(data.requestId)
      if (pending?.token === data.token) pending.answered(data.granted)
      return
    }
    const { clock } = this.#options
    const key = keyOf(data.room, data.requestId, data.token)
    if (data.openMs > 0) setLimited(this.#open, key, clock.monotonic() + data.openMs, MAX_OPEN)
    else this.#open.delete(key)
  }

  async #askHolder(
    room: string,
    client: LockClient,
    holder: LeaseRecord,
    kind: 'takeover' | 'request',
    limitMs: number,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { locks, feed, announcer, bus, clock } = this.#options
    signal.throwIfAborted()
    const requestId = randomId()
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>()
    const cancel = clock.setTimer(() => resolve('unanswered'), limitMs)
    const unsubscribe = feed.subscribe(({ phase, lease }) => {
      const isTheirs = lease.resource === roomResource(room) && lease.token === holder.token
      if (phase === 'ended' && isTheirs) resolve('freed')
    })
    const unlisten = onAbort(signal, () => reject(signal.reason))
    this.#pending.set(requestId, {
      id: locks.idOf(room, client),
      token: holder.token,
      withdraw: () => reject(new Withdrawn()),
      answered(granted) {
        if (granted) resolve('granted')
        else if (kind === 'request') resolve('declined')
      },
    })
    const tellNodes = (openMs: number) =>
      bus.publish({ topic: TOPIC, data: { room, requestId, token: holder.token, openMs } })
    try {
      await tellNodes(limitMs)
      await announcer.publishToRoom('document.takeover-requested', {
        room_id: room,
        request_id: requestId,
        kind,
        by: client.person,
        token: holder.token,
        answer_within_ms: limitMs,
      })
      return await promise
    } finally {
      // If the publication failed, nobody awaits the promise.
      promise.catch(() => {})
      cancel()
      unsubscribe()
      unlisten()
      this.#pending.delete(requestId)
      tellNodes(0).catch(() => {})
    }
  }
}

function keyOf(room: string, requestId: string, token: number): string {
  return JSON.stringify([room, requestId, token])
}
