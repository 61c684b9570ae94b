/**
 * From one holder to the next. The holder is told, and the asker's own request stays open meanwhile:
 *
 *     takeover: told ──grace over, or it says yes──▶ replaced
 *     request:  told ──yes──▶ replaced; no ──▶ declined; silence ──▶ as configured
 *
 * In both, a lock that comes free is taken. The holder's answer may reach another node, so it goes by the bus.
 * Nothing is kept: if the asker goes away, nothing has happened.
 */
import type { Clock, LeaseRecord } from '../core/index.ts'
import type { Announcer } from './announcer.ts'
import type { Bus, BusMessage } from './bus.ts'
import { roomResource } from './identity.ts'
import type { LeaseFeed } from './lease-feed.ts'
import type { Locking, Locks, Party } from './locks.ts'
import { Withdrawn } from './waiting.ts'

const TOPIC = 'handover'

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

type Reply = 'granted' | 'declined' | 'freed' | 'silence'

interface Pending {
  /** Who asks: the id of the lease that it wants. */
  readonly id: string
  readonly token: number
  withdraw(): void
  reply(granted: boolean): void
}

export class Handover {
  readonly #options: HandoverOptions
  readonly #pending = new Map<string, Pending>()

  constructor(options: HandoverOptions) {
    this.#options = options
  }

  /** The holder has the grace to save, whatever it says. */
  async takeOver(room: string, party: Party, signal: AbortSignal): Promise<Locking> {
    const { locks, grace } = this.#options
    const holder = await locks.holder(room)
    if (!holder || locks.isHolder(room, party, holder)) return locks.lock(room, party)
    await this.#ask(room, party, holder, 'takeover', grace, signal)
    return locks.lock(room, party, { replace: holder.token })
  }

  /** The holder decides. */
  async request(
    room: string,
    party: Party,
    signal: AbortSignal,
  ): Promise<Locking | 'declined' | 'unanswered'> {
    const { locks, answerWithin, unanswered } = this.#options
    const holder = await locks.holder(room)
    if (!holder || locks.isHolder(room, party, holder)) return locks.lock(room, party)
    const reply = await this.#ask(room, party, holder, 'request', answerWithin, signal)
    if (reply === 'declined') return reply
    if (reply === 'silence' && unanswered === 'decline') return 'unanswered'
    return locks.lock(room, party, { replace: holder.token })
  }

  /** The party gives up what it asked for. */
  withdraw(room: string, party: Party): void {
    const id = this.#options.locks.idOf(room, party)
    for (const pending of this.#pending.values()) if (pending.id === id) pending.withdraw()
  }

  /** Only the holder may answer; false if the caller is not. */
  async answer(room: string, party: Party, requestId: string, granted: boolean): Promise<boolean> {
    const { locks, bus, announcer } = this.#options
    const holder = await locks.holder(room)
    if (!holder || !locks.isHolder(room, party, holder)) return false
    await bus.publish({ topic: TOPIC, data: { requestId, token: holder.token, granted } })
    await announcer.tellRoom('document.takeover-answered', { room_id: room, request_id: requestId, granted })
    return true
  }

  hear({ topic, data: { requestId, token, granted } }: BusMessage): void {
    if (topic !== TOPIC || typeof requestId !== 'string') return
    const pending = this.#pending.get(requestId)
    if (pending?.token === token) pending?.reply(granted === true)
  }

  async #ask(
    room: string,
    party: Party,
    holder: LeaseRecord,
    kind: 'takeover' | 'request',
    limit: number,
    signal: AbortSignal,
  ): Promise<Reply> {
    const { locks, feed, announcer, clock } = this.#options
    signal.throwIfAborted()
    const requestId = crypto.randomUUID()
    const { promise, resolve, reject } = Promise.withResolvers<Reply>()
    const cancel = clock.setTimer(() => resolve('silence'), limit)
    const unsubscribe = feed.subscribe(({ phase, lease }) => {
      const isIt = lease.resource === roomResource(room) && lease.token === holder.token
      if (phase === 'ended' && isIt) resolve('freed')
    })
    const onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort)
    this.#pending.set(requestId, {
      id: locks.idOf(room, party),
      token: holder.token,
      withdraw: () => reject(new Withdrawn()),
      reply: (granted) => {
        if (granted) resolve('granted')
        else if (kind === 'request') resolve('declined')
      },
    })
    try {
      await announcer.tellRoom('document.takeover-requested', {
        room_id: room,
        request_id: requestId,
        kind,
        by: party.person,
        token: holder.token,
        answer_within_ms: limit,
      })
      return await promise
    } finally {
      promise.catch(() => {})
      cancel()
      unsubscribe()
      signal.removeEventListener('abort', onAbort)
      this.#pending.delete(requestId)
    }
  }
}
