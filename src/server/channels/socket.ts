import type { Clock } from '../../base/clock.ts'
import type { JsonValue } from '../../base/records.ts'
import { formatFrame, PUSHER_CLOSE, type PusherFrame, parseFrame, parseJson } from '../../protocol/index.ts'
import type { Connection, EventNaming } from './index.ts'
import type { ChannelLimits, ChannelsOptions } from './options.ts'
import type { Presence } from './presence.ts'
import {
  channelInUse,
  isPresence,
  isSigned,
  isUserChannel,
  NFC_EXPECTED,
  type Signing,
  userChannel,
} from './signing.ts'
import type { Subscribers } from './subscribers.ts'

/** What all sockets of a node share. */
export interface SocketContext {
  readonly subscribers: Subscribers<Socket>
  readonly presence: Presence
  readonly signing: Signing
  readonly clock: Clock
  readonly limits: ChannelLimits
  readonly publicChannels: boolean
  readonly allows: ChannelsOptions['allows']
  readonly onError: (error: unknown) => void
  readonly clientEvents: boolean
  /** To the subscribers of exactly this channel on all nodes, except the sender. */
  relay(channel: string, text: string, sender: string): void
}

/** Who a socket is in a presence channel. */
interface Member {
  readonly id: string
  readonly info: JsonValue
}

interface SubscriptionRefusal {
  readonly status: number
  readonly error: string
}

interface Subscription {
  readonly member: Member | null
  /** True when its signature was verified. */
  joined: boolean
}

const CONTROL_CHARACTER = /\p{Cc}/u

/** One accepted socket. It answers its frames and keeps its subscriptions. */
export class Socket {
  readonly id: string
  readonly naming: EventNaming
  /** A socket of Holdfast's own client. */
  readonly isOwn: boolean
  readonly #request: Request | undefined
  readonly #connection: Connection
  readonly #context: SocketContext
  readonly #subscriptions = new Map<string, Subscription>()
  readonly #frames: PerSecond
  readonly #clientEvents: PerSecond
  #activeAt: number
  #pingedAt: number | null = null
  #ended = false
  #user: string | null = null

  constructor(
    id: string,
    { naming, isOwn, request }: Pick<Socket, 'naming' | 'isOwn'> & { readonly request: Request | undefined },
    connection: Connection,
    context: SocketContext,
  ) {
    this.id = id
    this.naming = naming
    this.isOwn = isOwn
    this.#request = request
    this.#connection = connection
    this.#context = context
    this.#activeAt = context.clock.monotonic()
    this.#frames = new PerSecond(context.limits.framesPerSecond)
    this.#clientEvents = new PerSecond(context.limits.clientEventsPerSecond)
  }

  /** Who has signed in. */
  get user(): string | null {
    return this.#user
  }

  send(text: string): void {
    this.#connection.send(text)
  }

  /** Something has arrived from the client. */
  alive(): void {
    this.#activeAt = this.#context.clock.monotonic()
    this.#pingedAt = null
  }

  received(text: string): void {
    if (this.#ended) return
    this.alive()
    const frame = parseFrame(text)
    if (!this.#frames.allows(this.#activeAt))
      this.end(PUSHER_CLOSE.tooManyFrames, 'too many frames in a second')
    else if (frame) this.#answer(frame)
    else this.#sendError('expected a JSON object with a field event')
  }

  /** Pings a socket after this time without a message from it, and ends it if it does not answer in time. */
  check(silenceMs: number, answerMs: number): void {
    const now = this.#context.clock.monotonic()
    if (this.#pingedAt !== null) {
      if (now - this.#pingedAt >= answerMs) this.end(PUSHER_CLOSE.noPong, 'no pong in time')
    } else if (now - this.#activeAt >= silenceMs) {
      this.#pingedAt = now
      this.send(formatFrame('pusher:ping', {}))
    }
  }

  /** The reason is also sent as a frame, because not every client shows the reason of a close. */
  end(code: number, reason: string): void {
    if (this.#ended) return
    this.#ended = true
    closeWithError(this.#connection, code, reason)
  }

  closed(): void {
    this.#ended = true
    for (const channel of this.#subscriptions.keys()) this.#unsubscribe(channel)
  }

  #answer({ event, channel = '', data }: PusherFrame): void {
    if (event === 'pusher:ping') this.send(formatFrame('pusher:pong', {}))
    else if (event === 'pusher:pong') return
    else if (event === 'pusher:subscribe') this.#subscribe(Object(data))
    else if (event === 'pusher:unsubscribe') this.#unsubscribe(Object(data).channel)
    else if (event === 'pusher:signin') this.#signIn(Object(data))
    else if (event.startsWith('client-')) this.#clientEvent(event, channel, data)
    else this.#sendError('unknown event')
  }

  #subscribe({ channel, auth, channel_data }: Record<string, unknown>) {
    if (typeof channel !== 'string') return this.#sendError('expected the name of a channel')
    const current = this.#subscriptions.get(channel)
    if (current) return current.joined ? this.#confirm(channel) : undefined
    const channelData = typeof channel_data === 'string' ? channel_data : ''
    const subscription = { member: isPresence(channel) ? parseMember(channelData) : null, joined: false }
    const refusal = this.#refusalOf(channel, channelData, subscription)
    if (refusal) return this.#refuse(channel, refusal)
    this.#subscriptions.set(channel, subscription)
    const { signing, allows } = this.#context
    if (isSigned(channel)) {
      const verified = signing.verify(auth, this.id, channel, channelData)
      void this.#joinIf(verified, channel, subscription, { status: 401, error: 'the signature is not valid' })
    } else if (allows && !isUserChannel(channel)) {
      const forbidden = { status: 403, error: 'you may not hear this channel' }
      void this.#joinIf(this.#isAllowed(channel, allows), channel, subscription, forbidden)
    } else this.#join(channel, subscription)
  }

  async #joinIf(
    verdict: Promise<boolean>,
    channel: string,
    subscription: Subscription,
    refusal: SubscriptionRefusal,
  ): Promise<void> {
    const isAllowed = await verdict
    // It may have unsubscribed or closed meanwhile.
    if (this.#subscriptions.get(channel) !== subscription) return
    if (isAllowed) return this.#join(channel, subscription)
    this.#subscriptions.delete(channel)
    this.#refuse(channel, refusal)
  }

  async #isAllowed(channel: string, allows: NonNullable<ChannelsOptions['allows']>): Promise<boolean> {
    try {
      return this.#request !== undefined && (await allows(channel, this.#request)) === true
    } catch (error) {
      this.#context.onError(error)
      return false
    }
  }

  #signIn({ auth, user_data }: Record<string, unknown>) {
    const userData = typeof user_data === 'string' ? user_data : ''
    const { id } = Object(parseJson(userData))
    const refuse = () => this.#sendError('the signature, or the user, is not valid')
    if (typeof id !== 'string' || id === '' || userData.length > this.#context.limits.channelData)
      return refuse()
    void this.#context.signing.verifyUser(auth, this.id, userData).then((isSigned) => {
      if (!isSigned || (this.#user !== null && this.#user !== id)) return refuse()
      this.#user = id
      this.send(formatFrame('pusher:signin_success', { user_data: userData }))
    })
  }

  #refusalOf(channel: string, channelData: string, { member }: Subscription): SubscriptionRefusal | null {
    const { limits, publicChannels } = this.#context
    if (channel === '' || channel.length > limits.channelName || CONTROL_CHARACTER.test(channel))
      return { status: 400, error: 'the name of the channel is not valid' }
    if (channel !== channelInUse(channel)) return { status: 400, error: NFC_EXPECTED }
    if (isUserChannel(channel) && channel !== userChannel(this.#user ?? ''))
      return { status: 403, error: 'this is the channel of another user' }
    if (!publicChannels && !isSigned(channel) && !isUserChannel(channel))
      return { status: 403, error: 'public channels are closed' }
    if (isPresence(channel) && (!member || channelData.length > limits.channelData))
      return { status: 400, error: 'channel_data is not valid' }
    if (this.#subscriptions.size >= limits.channelsPerSocket)
      return { status: 429, error: 'too many channels' }
    return null
  }

  #join(channel: string, subscription: Subscription): void {
    const { subscribers, presence } = this.#context
    const { member } = subscription
    subscription.joined = true
    if (member) presence.join(channel, member.id, member.info)
    subscribers.add(channel, this)
    this.#confirm(channel)
  }

  #confirm(channel: string): void {
    const data = isPresence(channel) ? { presence: this.#membersOf(channel) } : {}
    this.send(formatFrame('pusher_internal:subscription_succeeded', data, { channel }))
  }

  #membersOf(channel: string) {
    const members = this.#context.presence.members(channel)
    return { count: members.size, ids: [...members.keys()], hash: Object.fromEntries(members) }
  }

  #unsubscribe(channel: string): void {
    const subscription = this.#subscriptions.get(channel)
    this.#subscriptions.delete(channel)
    if (!subscription?.joined) return
    const { subscribers, presence } = this.#context
    subscribers.remove(channel, this)
    if (subscription.member) presence.leave(channel, subscription.member.id)
  }

  #clientEvent(event: string, channel: string, data: unknown) {
    const { clientEvents, limits, relay } = this.#context
    const subscription = this.#subscriptions.get(channel)
    const refuse = (reason: string) => this.#sendError(reason, PUSHER_CLOSE.tooManyFrames)
    if (!clientEvents) return refuse('client events are switched off')
    if (!subscription?.joined || !isSigned(channel) || event.length > limits.channelName)
      return refuse('client events need a private or presence channel that was subscribed to')
    if (!this.#clientEvents.allows(this.#activeAt)) return refuse('too many client events in a second')
    const { member } = subscription
    try {
      relay(channel, formatFrame(event, data, { channel, ...(member && { user_id: member.id }) }), this.id)
    } catch {
      // `JSON.parse` reads deeper nesting than `JSON.stringify` can write.
      refuse('the data is nested too deeply')
    }
  }

  /** In the form of an auth endpoint's error, so that clients report it to the listeners of the channel. */
  #refuse(channel: string, { status, error }: SubscriptionRefusal): void {
    const type = status === 401 ? 'AuthError' : 'SubscriptionError'
    const name = channel.slice(0, this.#context.limits.channelName)
    this.send(formatFrame('pusher:subscription_error', { type, error, status }, { channel: name }))
  }

  #sendError(message: string, code: number | null = null): void {
    this.send(formatFrame('pusher:error', { code, message }))
  }
}

/** The bytes of a reason in a close frame. Our reasons are ASCII. */
const MAX_REASON_LENGTH = 123

export function closeWithError(connection: Connection, code: number, reason: string): void {
  connection.send(formatFrame('pusher:error', { code, message: reason }))
  connection.close(code, reason.slice(0, MAX_REASON_LENGTH))
}

/** From the `channel_data` that the auth endpoint has signed. `null`: malformed. */
function parseMember(channelData: string): Member | null {
  const { user_id, user_info = null } = Object(parseJson(channelData))
  const isId = (typeof user_id === 'string' && user_id !== '') || Number.isFinite(user_id)
  return isId ? { id: String(user_id), info: user_info } : null
}

/** Counts the events within each second of the clock. */
class PerSecond {
  readonly #limit: number
  #second = -1
  #count = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  allows(nowMs: number): boolean {
    const second = Math.floor(nowMs / 1000)
    if (second !== this.#second) this.#count = 0
    this.#second = second
    return ++this.#count <= this.#limit
  }
}
