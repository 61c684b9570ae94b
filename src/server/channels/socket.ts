import type { Clock } from '../../core/index.ts'
import { formatFrame, PUSHER_CLOSE, type PusherFrame, parseFrame } from '../../protocol/index.ts'
import type { Connection } from './index.ts'
import { type ChannelLimits, PerSecond } from './limits.ts'
import { type Member, parseMember } from './member.ts'
import type { EventNaming } from './naming.ts'
import type { Presence } from './presence.ts'
import type { Rooms } from './rooms.ts'
import { isPresence, isSigned, type Signing } from './signing.ts'

/** What all sockets of a node share. */
export interface Surroundings {
  readonly rooms: Rooms<Socket>
  readonly presence: Presence
  readonly signing: Signing
  readonly clock: Clock
  readonly limits: ChannelLimits
  readonly publicChannels: boolean
  readonly clientEvents: boolean
  /** To the subscribers of this very channel on all nodes, but for the sender. */
  relay(channel: string, text: string, sender: string): void
}

interface SubscriptionRefusal {
  readonly status: number
  readonly error: string
}

interface Subscription {
  readonly member: Member | null
  /** Not before its signature was verified. */
  joined: boolean
}

const CONTROL_CHARACTER = /\p{Cc}/u

/** One socket from its acceptance on: answers its frames, and knows what it has subscribed to. */
export class Socket {
  readonly id: string
  readonly naming: EventNaming
  readonly #connection: Connection
  readonly #here: Surroundings
  readonly #subscriptions = new Map<string, Subscription>()
  readonly #frames: PerSecond
  readonly #clientEvents: PerSecond
  #heardAt: number
  #pingedAt: number | null = null
  #ended = false

  constructor(id: string, naming: EventNaming, connection: Connection, here: Surroundings) {
    this.id = id
    this.naming = naming
    this.#connection = connection
    this.#here = here
    this.#heardAt = here.clock.monotonic()
    this.#frames = new PerSecond(here.limits.framesPerSecond)
    this.#clientEvents = new PerSecond(here.limits.clientEventsPerSecond)
  }

  send(text: string): void {
    this.#connection.send(text)
  }

  /** Any sign of life. */
  alive(): void {
    this.#heardAt = this.#here.clock.monotonic()
    this.#pingedAt = null
  }

  received(text: string): void {
    if (this.#ended) return
    this.alive()
    const frame = parseFrame(text)
    if (!this.#frames.allows(this.#heardAt))
      this.end(PUSHER_CLOSE.tooManyFrames, 'too many frames in a second')
    else if (frame) this.#answer(frame)
    else this.#complain('expected a JSON object with a field event')
  }

  /** Pings a socket that was silent for that long, and ends it if even that is not answered in time. */
  check(silenceMs: number, answerMs: number): void {
    const now = this.#here.clock.monotonic()
    if (this.#pingedAt !== null) {
      if (now - this.#pingedAt >= answerMs) this.end(PUSHER_CLOSE.noPong, 'no pong in time')
    } else if (now - this.#heardAt >= silenceMs) {
      this.#pingedAt = now
      this.send(formatFrame('pusher:ping', {}))
    }
  }

  /** The reason is sent as a frame too, since not every client shows that of the close. */
  end(code: number, reason: string): void {
    if (this.#ended) return
    this.#ended = true
    dismiss(this.#connection, code, reason)
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
    else if (event.startsWith('client-')) this.#clientEvent(event, channel, data)
    else this.#complain('unknown event')
  }

  #subscribe({ channel, auth, channel_data }: Record<string, unknown>) {
    if (typeof channel !== 'string') return this.#complain('expected the name of a channel')
    const current = this.#subscriptions.get(channel)
    if (current) return current.joined ? this.#confirm(channel) : undefined
    const channelData = typeof channel_data === 'string' ? channel_data : ''
    const subscription = { member: isPresence(channel) ? parseMember(channelData) : null, joined: false }
    const refusal = this.#refusalOf(channel, channelData, subscription)
    if (refusal) return this.#refuse(channel, refusal)
    this.#subscriptions.set(channel, subscription)
    if (!isSigned(channel)) return this.#join(channel, subscription)
    void this.#here.signing.verify(auth, this.id, channel, channelData).then((valid) => {
      // It may have unsubscribed or gone in the meantime.
      if (this.#subscriptions.get(channel) !== subscription) return
      if (valid) return this.#join(channel, subscription)
      this.#subscriptions.delete(channel)
      this.#refuse(channel, { status: 401, error: 'the signature is not valid' })
    })
  }

  #refusalOf(channel: string, channelData: string, { member }: Subscription): SubscriptionRefusal | null {
    const { limits, publicChannels } = this.#here
    if (channel === '' || channel.length > limits.channelName || CONTROL_CHARACTER.test(channel))
      return { status: 400, error: 'the name of the channel is not valid' }
    if (!publicChannels && !isSigned(channel)) return { status: 403, error: 'public channels are closed' }
    if (isPresence(channel) && (!member || channelData.length > limits.channelData))
      return { status: 400, error: 'channel_data is not valid' }
    if (this.#subscriptions.size >= limits.channelsPerSocket)
      return { status: 429, error: 'too many channels' }
    return null
  }

  #join(channel: string, subscription: Subscription): void {
    const { rooms, presence } = this.#here
    const { member } = subscription
    subscription.joined = true
    if (member) presence.join(channel, member.id, member.info)
    rooms.enter(channel, this)
    this.#confirm(channel)
  }

  #confirm(channel: string): void {
    const data = isPresence(channel) ? { presence: this.#membersOf(channel) } : {}
    this.send(formatFrame('pusher_internal:subscription_succeeded', data, { channel }))
  }

  #membersOf(channel: string) {
    const members = this.#here.presence.members(channel)
    return { count: members.size, ids: [...members.keys()], hash: Object.fromEntries(members) }
  }

  #unsubscribe(channel: string): void {
    const subscription = this.#subscriptions.get(channel)
    this.#subscriptions.delete(channel)
    if (!subscription?.joined) return
    const { rooms, presence } = this.#here
    rooms.leave(channel, this)
    if (subscription.member) presence.leave(channel, subscription.member.id)
  }

  #clientEvent(event: string, channel: string, data: unknown) {
    const { clientEvents, limits, relay } = this.#here
    const subscription = this.#subscriptions.get(channel)
    const refuse = (reason: string) => this.#complain(reason, PUSHER_CLOSE.tooManyFrames)
    if (!clientEvents) return refuse('client events are switched off')
    if (!subscription?.joined || !isSigned(channel) || event.length > limits.channelName)
      return refuse('client events need a private or presence channel that was subscribed to')
    if (!this.#clientEvents.allows(this.#heardAt)) return refuse('too many client events in a second')
    const { member } = subscription
    try {
      relay(channel, formatFrame(event, data, { channel, ...(member && { user_id: member.id }) }), this.id)
    } catch {
      // What `JSON.parse` reads may be nested too deeply for `JSON.stringify`.
      refuse('the data is nested too deeply')
    }
  }

  /** As the answer of an auth endpoint would be, so that the listeners of the channel hear of it. */
  #refuse(channel: string, { status, error }: SubscriptionRefusal): void {
    const type = status === 401 ? 'AuthError' : 'SubscriptionError'
    const name = channel.slice(0, this.#here.limits.channelName)
    this.send(formatFrame('pusher:subscription_error', { type, error, status }, { channel: name }))
  }

  #complain(message: string, code: number | null = null): void {
    this.send(formatFrame('pusher:error', { code, message }))
  }
}

/** What a close has room for, in bytes; our reasons are ASCII. */
const REASON_LIMIT = 123

export function dismiss(connection: Connection, code: number, reason: string): void {
  connection.send(formatFrame('pusher:error', { code, message: reason }))
  connection.close(code, reason.slice(0, REASON_LIMIT))
}
