import { expectFunction, expectObject, expectText } from '../../base/arguments.ts'
import type { Clock } from '../../base/clock.ts'
import { LeaseError, messageOf } from '../../base/errors.ts'
import { notify } from '../../base/notify.ts'
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

  return {
    async publish(message) {
      throwIfClosed()
      await transport.send(format(message))
    },
    async subscribe(on) {
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
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

function format(message: BusMessage): string {
  expectObject('message', message)
  expectText('message.topic', message.topic)
  expectObject('message.data', message.data)
  try {
    return JSON.stringify(message)
  } catch (error) {
    throw new LeaseError('invalid-argument', `message.data: expected JSON; ${messageOf(error)}`, {
      cause: error,
    })
  }
}

/** `null`: malformed, or a message of another version. */
function parse(text: string): BusMessage | null {
  try {
    const { topic, data } = JSON.parse(text)
    return typeof topic === 'string' && typeof data === 'object' && data !== null ? { topic, data } : null
  } catch {
    return null
  }
}
