import { LeaseError } from '../../core/index.ts'
import type { Bus } from '../bus.ts'
import { inTime } from './in-time.ts'
import { busClosed, Listeners } from './listeners.ts'

/** `NatsConnection`: what is used of it. */
export interface NatsBusConnection {
  publish(subject: string, payload: string): void
  subscribe(subject: string, options: { callback: NatsCallback }): { unsubscribe(): void }
  flush(): Promise<void>
}

type NatsCallback = (error: Error | null, message: { string(): string }) => void

export interface NatsBusOptions {
  /** Default `holdfast.bus`. */
  readonly subject?: string
}

/**
 * A bus on a subject of NATS. Takes a connection of yours and leaves it open; the connection must not be `noEcho`.
 *
 * @example
 * const bus = natsBus(await connect({ servers: 'nats://localhost:4222' }))
 */
export function natsBus(
  connection: NatsBusConnection,
  { subject = 'holdfast.bus' }: NatsBusOptions = {},
): Bus {
  if (typeof connection?.flush !== 'function' || typeof connection.subscribe !== 'function')
    throw new LeaseError('invalid-argument', 'connection: expected a NatsConnection')
  const listeners = new Listeners()
  let subscription: { unsubscribe(): void } | undefined
  let closed = false

  const stop = () => {
    subscription?.unsubscribe()
    subscription = undefined
  }
  return {
    async publish(message) {
      if (closed) throw busClosed()
      const text = JSON.stringify(message)
      await inTime(() => {
        connection.publish(subject, text)
        return connection.flush()
      })
    },
    async subscribe(on) {
      if (closed) throw busClosed()
      const listener = listeners.add(on)
      const end = async () => {
        await listener[Symbol.asyncDispose]()
        if (listeners.size === 0) stop()
      }
      try {
        const callback: NatsCallback = (error, message) => error ?? listeners.hear(message.string())
        await inTime(() => {
          // The client subscribes again by itself when it was disconnected.
          subscription ??= connection.subscribe(subject, { callback })
          return connection.flush()
        })
      } catch (error) {
        await end()
        throw error
      }
      return { [Symbol.asyncDispose]: end }
    },
    async close() {
      closed = true
      listeners.clear()
      stop()
    },
  }
}
