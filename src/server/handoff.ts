/**
 * Handing a lock from one holder to the next. The holder is told, and the request of the next one stays open:
 *
 *     takeover: told ──grace period over, or holder agrees──▶ replaced; the holder cannot decline
 *     request:  told ──holder agrees──▶ replaced; holder declines ──▶ declined; no answer ──▶ as configured
 *               holder asks for more time ──▶ told again when that is over
 *
 * A request of the holder's own session, from another tab, ends like a takeover: an answer decides, or the grace period.
 * In both cases a lock that becomes free is taken. The holder's answer may arrive at another node, so it is sent over
 * the bus, and every node remembers which requests are open, so that a holder that was away still learns of them with
 * its next answer. Nothing is stored: if the request is aborted, nothing has happened.
 */
import * as v from 'valibot'
import { onAbort } from '../base/abort.ts'
import type { Clock } from '../base/clock.ts'
import { randomId } from '../base/random-id.ts'
import type { LeaseRecord } from '../base/records.ts'
import { type HandoffRequest, type handoffAnswer, handoffRequest, type Person } from '../protocol/index.ts'
import { type Announcer, keyOf } from './announcer.ts'
import type { Bus, BusMessage } from './bus.ts'
import { roomResource } from './identity.ts'
import type { LeaseFeed } from './lease-feed.ts'
import { setLimited } from './limited-map.ts'
import type { LockClient, LockResult, Locks } from './locks.ts'
import { MAX_OPEN_HANDOFFS, OWN_TAB_MS, TELL_HANDOFFS_EVERY_MS } from './options.ts'
import type { RoomQueues } from './room-queues.ts'
import { Withdrawn } from './waiting-requests.ts'

const TOPIC = 'handover'

/** What nodes tell each other: a holder's answer, or how long a request stays open (0: it has ended). */
const message = v.union([
  v.object({ requestId: v.string(), token: v.number(), granted: v.boolean() }),
  v.object({ requestId: v.string(), token: v.number(), postponeMs: v.number() }),
  v.object({
    requestId: v.string(),
    token: v.number(),
    room: v.string(),
    openMs: v.number(),
    // Nodes of an earlier version do not say them.
    kind: v.exactOptional(handoffRequest.entries.kind),
    by: v.exactOptional(handoffRequest.entries.by),
    passes: handoffRequest.entries.passes,
    postponedMs: v.exactOptional(v.number()),
  }),
])

export interface HandoffOptions {
  readonly locks: Locks
  readonly feed: LeaseFeed
  readonly announcer: Announcer
  readonly roomQueues: RoomQueues
  readonly bus: Bus
  readonly clock: Clock
  readonly grace: number
  readonly answerWithin: number
  readonly unanswered: 'decline' | 'grant'
}

type Outcome = 'granted' | 'declined' | 'freed' | 'unanswered'

/** What a holder is asked, by whom and for how long. */
interface Question {
  readonly room: string
  readonly client: LockClient
  readonly holder: LeaseRecord
  readonly kind: 'takeover' | 'request'
  readonly limitMs: number
  readonly signal: AbortSignal
}

/** A request of any node that was announced and has not ended. */
interface OpenRequest extends Partial<Pick<HandoffRequest, 'kind' | 'by' | 'passes'>> {
  readonly room: string
  /** When its time is over. */
  readonly until: number
  isAnswered: boolean
  /** What the holder has answered at this node. */
  granted?: boolean | undefined
  /** Until when the holder has asked for time. */
  postponedUntil?: number | undefined
  /** It has done so at this node. */
  isPostponedHere?: boolean | undefined
}

export class Handoff {
  readonly #options: HandoffOptions
  readonly #pending = new Map<string, PendingRequest>()
  /** By the token of the holder and the id of the request. */
  readonly #open = new Map<number, Map<string, OpenRequest>>()

  constructor(options: HandoffOptions) {
    this.#options = options
  }

  /** The holder cannot decline. It has the grace period to save. */
  async takeOver(room: string, client: LockClient, signal: AbortSignal): Promise<LockResult> {
    const { locks, grace } = this.#options
    const holder = await locks.holder(room)
    if (!holder || locks.isHolder(room, client, holder)) return locks.lock(room, client)
    await this.#askHolder({ room, client, holder, kind: 'takeover', limitMs: grace, signal })
    signal.throwIfAborted()
    return locks.lock(room, client, { replace: holder.token })
  }

  /** The holder decides. */
  async request(
    room: string,
    client: LockClient,
    signal: AbortSignal,
  ): Promise<LockResult | 'declined' | 'unanswered'> {
    const { locks, grace, answerWithin, unanswered } = this.#options
    const holder = await locks.holder(room)
    if (!holder || locks.isHolder(room, client, holder)) return locks.lock(room, client)
    // Another tab of the same session, which may have crashed. It need not be asked for longer than to save.
    const isOwn = holder.owner === client.person.session_id
    const limitMs = isOwn ? Math.min(Math.max(grace, OWN_TAB_MS), answerWithin) : answerWithin
    const outcome = await this.#askHolder({ room, client, holder, kind: 'request', limitMs, signal })
    if (outcome === 'declined') return outcome
    // Whether the lock has become free may not have been heard here.
    const isDeclined = outcome === 'unanswered' && unanswered === 'decline' && !isOwn
    if (isDeclined && (await locks.holder(room))?.token === holder.token) return outcome
    signal.throwIfAborted()
    return locks.lock(room, client, { replace: holder.token })
  }

  /** The client gives up what it asked for before this time. */
  withdraw(room: string, person: Person, before: number): void {
    for (const pending of this.#pending.values())
      if (pending.room === room && keyOf(pending.by) === keyOf(person) && pending.since < before)
        pending.withdraw()
  }

  /** The oldest open request to the holder of this token that it has not answered. */
  requestTo(room: string, token: number): HandoffRequest | undefined {
    const now = this.#options.clock.monotonic()
    for (const [request_id, open] of this.#open.get(token) ?? []) {
      const { kind, by, passes, until, postponedUntil = now } = open
      if (open.room === room && until > now && !open.isAnswered && kind && by)
        return {
          request_id,
          kind,
          by,
          ...(passes && { passes }),
          answer_within_ms: Math.ceil(until - now),
          ...(postponedUntil > now && { postponed_ms: Math.ceil(postponedUntil - now) }),
        }
    }
    return undefined
  }

  /** Only the holder may answer, and only a request that is open. `takeover`: it can only be agreed to. */
  async answer(
    room: string,
    client: LockClient,
    answer: v.InferOutput<typeof handoffAnswer>,
  ): Promise<'answered' | 'no-lock' | 'not-yours' | 'no-request' | 'takeover'> {
    const { locks, announcer, clock, answerWithin } = this.#options
    const { request_id: requestId } = answer
    const holder = await locks.holder(room)
    if (!holder) return 'no-lock'
    if (!locks.isHolder(room, client, holder)) return 'not-yours'
    const open = this.#open.get(holder.token)?.get(requestId)
    if (open?.room !== room || open.until <= clock.monotonic()) return 'no-request'
    if (open.kind === 'takeover' && !('granted' in answer && answer.granted)) return 'takeover'
    // Another message about it may have come meanwhile.
    const current = () => this.#open.get(holder.token)?.get(requestId) ?? open
    if ('postpone_ms' in answer) {
      const { postpone_ms: postponeMs } = answer
      await this.#tellPostponed(requestId, holder.token, postponeMs)
      Object.assign(current(), {
        postponedUntil: clock.monotonic() + postponeMs,
        until: clock.monotonic() + postponeMs + answerWithin,
        isPostponedHere: true,
      })
      if (open.by)
        await announcer.publishToRoom('document.takeover-postponed', {
          room_id: room,
          request_id: requestId,
          by: open.by,
          postponed_ms: postponeMs,
          answer_within_ms: postponeMs + answerWithin,
        })
      return 'answered'
    }
    const { granted } = answer
    await this.#tellAnswer(requestId, holder.token, granted)
    Object.assign(current(), { isAnswered: true, granted })
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
      const open = this.#open.get(data.token)?.get(data.requestId)
      if (open) open.isAnswered = true
      return
    }
    if ('postponeMs' in data) {
      const pending = this.#pending.get(data.requestId)
      if (pending?.token === data.token) pending.postponed(data.postponeMs)
      return
    }
    const { requestId, token, openMs, postponedMs, ...about } = data
    const now = this.#options.clock.monotonic()
    const ofHolder = this.#open.get(token) ?? new Map<string, OpenRequest>()
    const known = ofHolder.get(requestId)
    const { isAnswered = false, granted, isPostponedHere } = known ?? {}
    const leftMs = (known?.postponedUntil ?? 0) - now
    // Its node still waits for the answer, so the message with the answer was lost.
    if (openMs > 0 && granted !== undefined) this.#tellAnswer(requestId, token, granted).catch(() => {})
    // So was the message that it is postponed.
    const isLost = openMs > 0 && isPostponedHere === true && postponedMs === undefined && leftMs >= 1000
    if (isLost) this.#tellPostponed(requestId, token, leftMs).catch(() => {})
    const open: OpenRequest = {
      ...about,
      until: known && isLost ? known.until : now + openMs,
      isAnswered,
      granted,
      isPostponedHere,
      postponedUntil: isLost ? known?.postponedUntil : postponedMs && now + postponedMs,
    }
    if (openMs > 0) setLimited(ofHolder, requestId, open, MAX_OPEN_HANDOFFS)
    else ofHolder.delete(requestId)
    if (ofHolder.size > 0) setLimited(this.#open, token, ofHolder, MAX_OPEN_HANDOFFS)
    else this.#open.delete(token)
  }

  #tellAnswer(requestId: string, token: number, granted: boolean): Promise<void> {
    return this.#options.bus.publish({ topic: TOPIC, data: { requestId, token, granted } })
  }

  #tellPostponed(requestId: string, token: number, postponeMs: number): Promise<void> {
    return this.#options.bus.publish({ topic: TOPIC, data: { requestId, token, postponeMs } })
  }

  async #askHolder(question: Question): Promise<Outcome> {
    const { room, client, holder, kind, limitMs, signal } = question
    const { feed, announcer, roomQueues } = this.#options
    const passed = waitersBefore(client.person, roomQueues.of(room).first)
    const about = { kind, by: client.person, ...(passed.length > 0 && { passes: passed }) }
    signal.throwIfAborted()
    const pending = new PendingRequest(question, about, this.#options)
    const { requestId } = pending
    const unsubscribe = feed.subscribe(({ phase, lease }) => {
      const isTheirs = lease.resource === roomResource(room) && lease.token === holder.token
      if (phase === 'ended' && isTheirs) pending.freed()
    })
    const unlisten = onAbort(signal, () => pending.fail(signal.reason))
    this.#pending.set(requestId, pending)
    try {
      await pending.tellNodes()
      pending.tellLater()
      await announcer.publishToRoom('document.takeover-requested', {
        room_id: room,
        request_id: requestId,
        ...about,
        token: holder.token,
        answer_within_ms: limitMs,
      })
      return await pending.outcome
    } catch (error) {
      const ended = { room_id: room, request_id: requestId, granted: false }
      announcer.publishToRoom('document.takeover-answered', ended).catch(() => {})
      throw error
    } finally {
      unsubscribe()
      unlisten()
      this.#pending.delete(requestId)
      pending.end()
    }
  }
}

/** A request of this node, from its announcement to its outcome. */
class PendingRequest {
  readonly requestId = randomId()
  readonly room: string
  readonly by: Person
  /** Wall time. */
  readonly since: number
  readonly token: number
  readonly #question: Question
  readonly #about: Pick<HandoffRequest, 'kind' | 'by' | 'passes'>
  readonly #bus: Bus
  readonly #clock: Clock
  readonly #outcome = Promise.withResolvers<Outcome>()
  #endsAt: number
  #postponedUntil = 0
  #cancel: () => void
  #cancelTelling = () => {}

  constructor(
    question: Question,
    about: Pick<HandoffRequest, 'kind' | 'by' | 'passes'>,
    { bus, clock }: Pick<HandoffOptions, 'bus' | 'clock'>,
  ) {
    this.#question = question
    this.#about = about
    this.#bus = bus
    this.#clock = clock
    this.room = question.room
    this.by = about.by
    this.since = clock.now()
    this.token = question.holder.token
    this.#endsAt = clock.monotonic() + question.limitMs
    this.#cancel = this.#endLater()
  }

  get outcome(): Promise<Outcome> {
    return this.#outcome.promise
  }

  freed(): void {
    this.#outcome.resolve('freed')
  }

  fail(reason: unknown): void {
    this.#outcome.reject(reason)
  }

  withdraw(): void {
    this.fail(new Withdrawn())
  }

  answered(granted: boolean): void {
    if (granted) this.#outcome.resolve('granted')
    else if (this.#question.kind === 'request') this.#outcome.resolve('declined')
  }

  postponed(ms: number): void {
    this.#postponedUntil = this.#clock.monotonic() + ms
    this.#endsAt = this.#postponedUntil + this.#question.limitMs
    this.#cancel()
    this.#cancel = this.#endLater()
    this.tellNodes().catch(() => {})
  }

  tellNodes(openMs = this.#endsAt - this.#clock.monotonic()): Promise<void> {
    const { requestId, room, token } = this
    const postponedMs = this.#postponedUntil - this.#clock.monotonic()
    const postponed = postponedMs > 0 && { postponedMs }
    const data = { room, requestId, token, openMs, ...this.#about, ...postponed }
    return this.#bus.publish({ topic: TOPIC, data })
  }

  tellLater(): void {
    this.#cancelTelling = this.#clock.setTimer(() => {
      this.tellNodes().catch(() => {})
      this.tellLater()
    }, TELL_HANDOFFS_EVERY_MS)
  }

  end(): void {
    // If the publication failed, nobody awaits the outcome.
    this.outcome.catch(() => {})
    this.#cancel()
    this.#cancelTelling()
    this.tellNodes(0).catch(() => {})
  }

  #endLater(): () => void {
    const leftMs = this.#endsAt - this.#clock.monotonic()
    return this.#clock.setTimer(() => this.#outcome.resolve('unanswered'), leftMs)
  }
}

/** A client that is not in the queue passes everybody in it. */
function waitersBefore(by: Person, queue: readonly Person[]): Person[] {
  const place = queue.findIndex((waiter) => keyOf(waiter) === keyOf(by))
  return place < 0 ? [...queue] : queue.slice(0, place)
}
