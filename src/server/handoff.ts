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
 *
 * A client that says how long a request may stay open (`waitMs`) asks again when that time is over, or when a proxy has
 * cut the connection. The question to the holder stays open for that, and the client may come to another node:
 *
 *     open ──time over, or cut──▶ kept ──asked again──▶ open; not asked again ──▶ ended
 */
import * as v from 'valibot'
import { onAbort, orAborted } from '../base/abort.ts'
import type { Clock } from '../base/clock.ts'
import { randomId } from '../base/random-id.ts'
import type { LeaseRecord } from '../base/records.ts'
import {
  type HandoffRequest,
  type handoffAnswer,
  handoffRequest,
  MIN_POSTPONE_MS,
  type Person,
} from '../protocol/index.ts'
import { type Announcer, keyOf } from './announcer.ts'
import type { Bus, BusMessage } from './bus.ts'
import { roomResource } from './identity.ts'
import type { LeaseFeed } from './lease-feed.ts'
import { setLimited } from './limited-map.ts'
import type { LockClient, LockResult, Locks } from './locks.ts'
import { KEEP_PLACE_MS, MAX_OPEN_HANDOFFS, OWN_TAB_MS, TELL_HANDOFFS_EVERY_MS } from './options.ts'
import type { RoomQueues } from './room-queues.ts'
import { Stopping, Superseded, Withdrawn } from './waiting-requests.ts'

const TOPIC = 'handover'

/** What nodes tell each other: a holder's answer, where a client is now, or for how long a request is open (0: it has ended). */
const message = v.union([
  v.object({ requestId: v.string(), token: v.number(), granted: v.boolean() }),
  v.object({ requestId: v.string(), token: v.number(), postponeMs: v.number() }),
  // The client has asked again at this node.
  v.object({ requestId: v.string(), token: v.number(), movedTo: v.string() }),
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

/** The request of a client. */
export interface HandoffCall {
  readonly signal: AbortSignal
  /** How long it stays open, if the client asks again after that. */
  readonly waitMs?: number | undefined
}

/** The holder is still asked. */
export interface StillAsked {
  readonly answerWithinMs: number
  readonly postponedMs: number
}

/** What a holder is asked, by whom and for how long. */
interface Question {
  readonly room: string
  readonly client: LockClient
  readonly holder: LeaseRecord
  readonly kind: 'takeover' | 'request'
  readonly limitMs: number
}

/** A request of any node that was announced and has not ended. */
interface OpenRequest extends Partial<Pick<HandoffRequest, 'kind' | 'by' | 'passes'>> {
  readonly room: string
  /** When its time is over. */
  readonly until: number
  isAnswered: boolean
  /** What the holder has answered at this node. */
  granted?: boolean | undefined
  /** What the holder has answered at any node. */
  outcome?: boolean | undefined
  /** Until when the holder has asked for time. */
  postponedUntil?: number | undefined
  /** It has done so at this node. */
  isPostponedHere?: boolean | undefined
}

export class Handoff {
  readonly #options: HandoffOptions
  readonly #node = randomId()
  readonly #pending = new Map<string, PendingRequest>()
  /** By the token of the holder and the id of the request. */
  readonly #open = new Map<number, Map<string, OpenRequest>>()

  constructor(options: HandoffOptions) {
    this.#options = options
  }

  /** The holder cannot decline. It has the grace period to save. */
  async takeOver(room: string, client: LockClient, call: HandoffCall): Promise<LockResult | StillAsked> {
    const { locks, grace } = this.#options
    const asked = this.#askedBy(room, client, 'takeover', call)
    const holder = asked?.question.holder ?? (await locks.holder(room))
    if (!holder || (!asked && locks.isHolder(room, client, holder))) return locks.lock(room, client)
    const question: Question = asked?.question ?? { room, client, holder, kind: 'takeover', limitMs: grace }
    const outcome = await this.#askHolder(question, call, asked)
    if (typeof outcome === 'object') return outcome
    call.signal.throwIfAborted()
    return locks.lock(room, client, { replace: holder.token })
  }

  /** The holder decides. */
  async request(
    room: string,
    client: LockClient,
    call: HandoffCall,
  ): Promise<LockResult | 'declined' | 'unanswered' | StillAsked> {
    const { locks, grace, answerWithin, unanswered } = this.#options
    const asked = this.#askedBy(room, client, 'request', call)
    const holder = asked?.question.holder ?? (await locks.holder(room))
    if (!holder || (!asked && locks.isHolder(room, client, holder))) return locks.lock(room, client)
    // Another tab of the same session, which may have crashed. It need not be asked for longer than to save.
    const isOwn = holder.owner === client.person.session_id
    const limitMs = isOwn ? Math.min(Math.max(grace, OWN_TAB_MS), answerWithin) : answerWithin
    const question: Question = asked?.question ?? { room, client, holder, kind: 'request', limitMs }
    const outcome = await this.#askHolder(question, call, asked)
    if (outcome === 'declined' || typeof outcome === 'object') return outcome
    // Whether the lock has become free may not have been heard here.
    const isDeclined = outcome === 'unanswered' && unanswered === 'decline' && !isOwn
    if (isDeclined && (await locks.holder(room))?.token === holder.token) return outcome
    call.signal.throwIfAborted()
    return locks.lock(room, client, { replace: holder.token })
  }

  /** The client gives up what it asked for before this time. */
  withdraw(room: string, person: Person, before: number): void {
    for (const pending of this.#pending.values())
      if (pending.room === room && keyOf(pending.by) === keyOf(person) && pending.since < before) {
        pending.withdraw()
        this.#giveUp(pending)
      }
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
    Object.assign(current(), { isAnswered: true, granted, outcome: granted })
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
      if (open) Object.assign(open, { isAnswered: true, outcome: data.granted })
      return
    }
    if ('postponeMs' in data) {
      const pending = this.#pending.get(data.requestId)
      if (pending?.token === data.token) pending.postponed(data.postponeMs)
      return
    }
    if ('movedTo' in data) {
      const pending = this.#pending.get(data.requestId)
      if (data.movedTo !== this.#node && pending) this.#forget(pending)
      return
    }
    const { requestId, token, openMs, postponedMs, ...about } = data
    const now = this.#options.clock.monotonic()
    const ofHolder = this.#open.get(token) ?? new Map<string, OpenRequest>()
    const known = ofHolder.get(requestId)
    const { isAnswered = false, granted, outcome, isPostponedHere } = known ?? {}
    const leftMs = (known?.postponedUntil ?? 0) - now
    // Its node still waits for the answer, so the message with the answer was lost.
    if (openMs > 0 && granted !== undefined) this.#tellAnswer(requestId, token, granted).catch(() => {})
    // So was the message that it is postponed.
    const isLost =
      openMs > 0 && isPostponedHere === true && postponedMs === undefined && leftMs >= MIN_POSTPONE_MS
    if (isLost) this.#tellPostponed(requestId, token, leftMs).catch(() => {})
    const open: OpenRequest = {
      ...about,
      until: known && isLost ? known.until : now + openMs,
      isAnswered,
      granted,
      outcome,
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

  /** What the same client has asked before at this node, and still is or was just decided. */
  #askedBy(
    room: string,
    { person }: LockClient,
    kind: Question['kind'],
    { waitMs }: HandoffCall,
  ): PendingRequest | undefined {
    if (waitMs === undefined) return undefined
    return [...this.#pending.values()].find(
      ({ question, by }) => question.room === room && question.kind === kind && keyOf(by) === keyOf(person),
    )
  }

  async #askHolder(
    question: Question,
    { signal, waitMs }: HandoffCall,
    asked?: PendingRequest,
  ): Promise<Outcome | StillAsked> {
    signal.throwIfAborted()
    const pending = asked ?? (await this.#begin(question, signal, waitMs))
    try {
      const outcome = await pending.wait(signal, waitMs)
      if (typeof outcome === 'object') pending.keep(() => this.#giveUp(pending))
      else this.#end(pending)
      return outcome
    } catch (error) {
      // Its client waits in another request.
      if (error instanceof Superseded) throw error
      // Another node knows of the question, and the client asks there.
      if (error instanceof Stopping && waitMs !== undefined) this.#forget(pending)
      else if (error === signal.reason && waitMs !== undefined) pending.keep(() => this.#giveUp(pending))
      else this.#giveUp(pending)
      throw error
    }
  }

  /** Asks the holder, or goes on with what the client has asked at another node. */
  async #begin(question: Question, signal: AbortSignal, waitMs?: number): Promise<PendingRequest> {
    const { room, client, holder, kind, limitMs } = question
    const { feed, announcer, roomQueues } = this.#options
    const elsewhere = waitMs === undefined ? undefined : this.#openBy(question)
    const passed = waitersBefore(client.person, roomQueues.of(room).first)
    const about = { kind, by: client.person, ...(passed.length > 0 && { passes: passed }) }
    const pending = new PendingRequest(question, about, this.#options, elsewhere)
    const { requestId } = pending
    pending.onEnd = feed.subscribe(({ phase, lease }) => {
      const isTheirs = lease.resource === roomResource(room) && lease.token === holder.token
      if (phase === 'ended' && isTheirs) pending.freed()
    })
    this.#pending.set(requestId, pending)
    try {
      if (elsewhere) await this.#tellMoved(pending)
      await pending.tellNodes()
      pending.tellLater()
      if (elsewhere) return pending
      const told = announcer.publishToRoom('document.takeover-requested', {
        room_id: room,
        request_id: requestId,
        ...about,
        token: holder.token,
        answer_within_ms: limitMs,
      })
      await orAborted(told, signal)
      return pending
    } catch (error) {
      this.#giveUp(pending)
      throw error
    }
  }

  #openBy({ room, client, holder, kind }: Question): Elsewhere | undefined {
    const now = this.#options.clock.monotonic()
    for (const [requestId, open] of this.#open.get(holder.token) ?? []) {
      const isTheirs = open.room === room && open.kind === kind && open.by !== undefined
      if (isTheirs && open.until > now && open.by && keyOf(open.by) === keyOf(client.person))
        return { requestId, ...open }
    }
    return undefined
  }

  #tellMoved({ requestId, token }: PendingRequest): Promise<void> {
    return this.#options.bus.publish({ topic: TOPIC, data: { requestId, token, movedTo: this.#node } })
  }

  /** The client has gone. */
  #giveUp(pending: PendingRequest): void {
    const { room, requestId } = pending
    if (!this.#pending.has(requestId)) return
    const ended = { room_id: room, request_id: requestId, granted: false }
    this.#options.announcer.publishToRoom('document.takeover-answered', ended).catch(() => {})
    this.#end(pending)
  }

  #end(pending: PendingRequest): void {
    this.#forget(pending)
    pending.tellNodes(0).catch(() => {})
  }

  #forget(pending: PendingRequest): void {
    this.#pending.delete(pending.requestId)
    pending.end()
  }
}

/** A request that is open at another node. */
interface Elsewhere extends OpenRequest {
  readonly requestId: string
}

/** A request of this node, from its announcement to its outcome. */
class PendingRequest {
  readonly requestId: string
  readonly room: string
  readonly by: Person
  /** Wall time. */
  readonly since: number
  readonly token: number
  readonly question: Question
  readonly #about: Pick<HandoffRequest, 'kind' | 'by' | 'passes'>
  readonly #bus: Bus
  readonly #clock: Clock
  readonly #outcome = Promise.withResolvers<Outcome>()
  #endsAt: number
  #postponedUntil = 0
  #cancel: () => void
  #cancelTelling = () => {}
  #cancelKeeping = () => {}
  /** Ends the request of the client that waits now. */
  #supersede = () => {}
  onEnd = () => {}

  constructor(
    question: Question,
    about: Pick<HandoffRequest, 'kind' | 'by' | 'passes'>,
    { bus, clock }: Pick<HandoffOptions, 'bus' | 'clock'>,
    elsewhere?: Elsewhere,
  ) {
    this.requestId = elsewhere?.requestId ?? randomId()
    this.question = question
    this.#about = about
    this.#bus = bus
    this.#clock = clock
    this.room = question.room
    this.by = about.by
    this.since = clock.now()
    this.token = question.holder.token
    this.#endsAt = elsewhere?.until ?? clock.monotonic() + question.limitMs
    this.#postponedUntil = elsewhere?.postponedUntil ?? 0
    this.#cancel = this.#endLater()
    // Nobody may wait for it when it fails.
    this.#outcome.promise.catch(() => {})
    if (elsewhere?.outcome !== undefined) this.answered(elsewhere.outcome)
  }

  /** Waits for the outcome: for at most `waitMs`, and until the next request of the client. */
  async wait(signal: AbortSignal, waitMs = Infinity): Promise<Outcome | StillAsked> {
    this.#supersede()
    this.#cancelKeeping()
    const { promise, resolve, reject } = Promise.withResolvers<StillAsked>()
    this.#supersede = () => reject(new Superseded())
    const unlisten = onAbort(signal, () => reject(signal.reason))
    const cancel =
      waitMs === Infinity ? () => {} : this.#clock.setTimer(() => resolve(this.#stillAsked()), waitMs)
    try {
      return await Promise.race([this.#outcome.promise, promise])
    } finally {
      cancel()
      unlisten()
      promise.catch(() => {})
    }
  }

  /** No request of the client is open. It may ask again in this time. */
  keep(onGone: () => void): void {
    this.#cancelKeeping = this.#clock.setTimer(onGone, KEEP_PLACE_MS, true)
  }

  #stillAsked(): StillAsked {
    const now = this.#clock.monotonic()
    return {
      answerWithinMs: Math.max(0, Math.ceil(this.#endsAt - now)),
      postponedMs: Math.max(0, Math.ceil(this.#postponedUntil - now)),
    }
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
    else if (this.question.kind === 'request') this.#outcome.resolve('declined')
  }

  postponed(ms: number): void {
    this.#postponedUntil = this.#clock.monotonic() + ms
    this.#endsAt = this.#postponedUntil + this.question.limitMs
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
    this.#cancel()
    this.#cancelTelling()
    this.#cancelKeeping()
    this.onEnd()
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
