import { expectFunction, expectObject, expectText } from '../../base/arguments.ts'
import type { Clock } from '../../base/clock.ts'
import { LeaseError, messageOf } from '../../base/errors.ts'
import { notify } from '../../base/notify.ts'
import { randomId } from '../../base/random-id.ts'
import { Calls } from '../../stores/local/calls.ts'
import type { Bus, BusMessage } from '../bus.ts'

export interface BusBackend {
  /** The name of the backend in messages, such as `Redis`. */
  readonly name: string
  /** Turns whatever the backend threw into a `LeaseError`. */
  readonly explain: (error: unknown) => LeaseError
  readonly clock?: Clock
}

/** What a bus has to do itself on its backend. */
export interface Transport {
  /** Sends the text to all nodes, including this one. Texts arrive in the order of the calls. */
  send(text: string): Promise<unknown>
  /** Resolves when texts arrive. Called for every new listener. */
  listen(): Promise<unknown>
  /** Called when the last listener has gone. */
  unlisten(): unknown
}

export interface TransportContext {
  /** Limits the time of each call. */
  readonly calls: Calls
  /** To be called with every text that arrives. */
  readonly received: (text: string) => void
  /** Whether anybody listens. */
  readonly isNeeded: () => boolean
}

/** Raise it when older nodes could misread a message. They skip messages of a newer version. */
const MESSAGE_VERSION = 1
const CHECK_TOPIC = 'holdfast.check'

/** A bus over a transport: the listeners of this node, the format of the messages, and `close`. */
export function createBus(
  { name, explain, clock }: BusBackend,
  createTransport: (context: TransportContext) => Transport,
): Bus & AsyncDisposable {
  const calls = new Calls({ backend: name, explain, kind: 'bus', ...(clock && { clock }) })
  const listeners = new Set<{ readonly on: (message: BusMessage) => void }>()
  let closed = false

  const transport = createTransport({
    calls,
    received(text) {
      const message = parse(text)
      if (message) for (const { on } of listeners) notify(on, message)
    },
    isNeeded: () => listeners.size > 0,
  })

  const close = async () => {
    closed = true
    listeners.clear()
    await Promise.all([transport.unlisten(), calls.close()])
  }
  const throwIfClosed = () => {
    if (closed) throw new LeaseError('closed', `this ${name} bus was closed`)
  }

  async function publish(message: BusMessage): Promise<void> {
    throwIfClosed()
    await transport.send(format(message))
  }

  async function subscribe(on: (message: BusMessage) => void): Promise<AsyncDisposable> {
    throwIfClosed()
    expectFunction('listener', on)
    const listener = { on }
    listeners.add(listener)
    const end = async () => {
      if (listeners.delete(listener) && listeners.size === 0) await transport.unlisten()
    }
    try {
      await transport.listen()
    } catch (error) {
      await end()
      throw error
    }
    return { [Symbol.asyncDispose]: end }
  }

  async function check(): Promise<void> {
    const id = randomId()
    const returned = Promise.withResolvers<void>()
    await using _ = await subscribe(({ topic, data: { id: received } }) => {
      if (topic === CHECK_TOPIC && received === id) returned.resolve()
    })
    await publish({ topic: CHECK_TOPIC, data: { id } })
    await calls.run(() => returned.promise)
  }

  return { publish, subscribe, check, close, [Symbol.asyncDispose]: close }
}

/** For backends on which requests overtake each other: sends one batch at a time. What comes meanwhile is the next. */
export function inTurns(
  send: (texts: readonly string[]) => Promise<unknown>,
): (...texts: readonly string[]) => Promise<unknown> {
  let waiting: string[] = []
  let last: Promise<unknown> = Promise.resolve()
  const sendWaiting = () => {
    const texts = waiting
    waiting = []
    return send(texts)
  }
  return (...texts) => {
    const isFirst = waiting.length === 0
    waiting.push(...texts)
    if (isFirst) last = last.then(sendWaiting, sendWaiting)
    return last
  }
}

function format(message: BusMessage): string {
  expectObject('message', message)
  expectText('message.topic', message.topic)
  expectObject('message.data', message.data)
  try {
    return JSON.stringify({ version: MESSAGE_VERSION, ...message })
  } catch (error) {
    throw new LeaseError('invalid-argument', `message.data: expected JSON; ${messageOf(error)}`, {
      cause: error,
    })
  }
}

/** `null`: malformed, or of a newer version. */
function parse(text: string): BusMessage | null {
  try {
    // Messages had no version before the first one that needed it.
    const { version = MESSAGE_VERSION, topic, data } = JSON.parse(text)
    const isKnown = version <= MESSAGE_VERSION && typeof topic === 'string'
    return isKnown && typeof data === 'object' && data !== null ? { topic, data } : null
  } catch {
    return null
  }
}
