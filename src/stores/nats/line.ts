import { LeaseError, systemClock } from '../../core/index.ts'
import { endedBy } from '../registers/calls.ts'

/** What the store uses of a `NatsConnection`; the rest is up to `@nats-io/kv`. */
export interface NatsConnection {
  isClosed(): boolean
  status(): AsyncIterable<{ readonly type: string }>
}

/** One try of the client to reconnect, by its default of 2 s, and some more. */
const PATIENCE_MS = 3000

/**
 * Whether the connection is up. The client keeps what is sent while it is down, then drops some of that as it
 * reconnects, and a request that was cut off waits for an answer until its timeout; so neither is left to it.
 */
export class Line {
  readonly #connection: NatsConnection
  readonly #status: AsyncIterable<{ readonly type: string }>
  #session = new AbortController()
  #reconnection = Promise.withResolvers<void>()

  constructor(connection: NatsConnection) {
    this.#connection = connection
    this.#status = connection.status()
    this.#follow().catch(() => {})
  }

  /** Aborts when the connection is lost. */
  get disconnection(): AbortSignal {
    return this.#session.signal
  }

  /** Resolves when it is up again after the next loss. */
  get reconnection(): Promise<void> {
    return this.#reconnection.promise
  }

  async send<T>(request: () => Promise<T>): Promise<T> {
    if (this.#connection.isClosed()) return request()
    if (this.disconnection.aborted) await patiently(this.reconnection)
    return endedBy(this.disconnection, request())
  }

  close(): void {
    if ('stop' in this.#status && typeof this.#status.stop === 'function') this.#status.stop()
  }

  async #follow(): Promise<void> {
    for await (const { type } of this.#status) {
      if (type === 'disconnect') this.#session.abort(down())
      if (type !== 'reconnect') continue
      this.#session = new AbortController()
      this.#reconnection.resolve()
      this.#reconnection = Promise.withResolvers()
    }
  }
}

async function patiently(work: Promise<void>): Promise<void> {
  const limit = new AbortController()
  const cancel = systemClock.setTimer(() => limit.abort(down()), PATIENCE_MS)
  await endedBy(limit.signal, work).finally(cancel)
}

function down(): LeaseError {
  return new LeaseError('store-unavailable', 'the connection to NATS is down')
}
