import { onAbort, orAborted } from '../../base/abort.ts'
import { systemClock } from '../../base/clock.ts'
import { LeaseError } from '../../base/errors.ts'
import { connectionTrouble } from '../../clients/connection.ts'
import type { NatsConnection, NatsStatus } from '../../clients/nats.ts'
import { RECONNECT_LIMIT_MS } from './options.ts'

/**
 * Whether the connection is up. The client queues requests while it is down and drops some of them when it
 * reconnects, and a request that was under way waits for its timeout. So the store waits or fails by itself:
 *
 *     up ──disconnect──▶ down ──reconnect──▶ up ──▶ … ──close──▶ closed
 */
export class ConnectionState {
  readonly #connection: NatsConnection
  readonly #status: AsyncIterable<NatsStatus>
  #lost = new AbortController()
  #restored = new AbortController()
  #trouble: Error | undefined
  #lastError: unknown

  constructor(connection: NatsConnection) {
    this.#connection = connection
    this.#status = connection.status()
    this.#follow().catch(() => {})
  }

  /** Aborts when the connection is lost or closed. */
  get lost(): AbortSignal {
    return this.#lost.signal
  }

  /** Aborts when the connection is up again after its next loss. */
  get restored(): AbortSignal {
    return this.#restored.signal
  }

  trouble(): Error | undefined {
    return this.#trouble
  }

  /** Waits a little for the connection if it is down. Rejects at once if it is lost while the request is under way. */
  async send<T>(request: () => Promise<T>): Promise<T> {
    // The client rejects it with an error that says so.
    if (this.#connection.isClosed()) return request()
    if (this.lost.aborted) await this.#untilRestored()
    return orAborted(request(), this.lost)
  }

  close(): void {
    if ('stop' in this.#status && typeof this.#status.stop === 'function') this.#status.stop()
  }

  async #follow(): Promise<void> {
    for await (const { type, server, error } of this.#status) {
      if (type === 'error') this.#lastError = error
      if (type === 'disconnect') {
        this.#trouble = connectionTrouble(true, this.#lastError, server)
        this.#lost.abort(connectionDown())
      }
      if (type === 'reconnect') {
        this.#trouble = undefined
        this.#lastError = undefined
        const restored = this.#restored
        this.#lost = new AbortController()
        this.#restored = new AbortController()
        restored.abort()
      }
    }
    if (this.#connection.isClosed())
      this.#lost.abort(new LeaseError('store-failed', 'NATS: the connection was closed'))
  }

  #untilRestored(): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const cancelLimit = systemClock.setTimer(() => {
        unlisten()
        reject(connectionDown())
      }, RECONNECT_LIMIT_MS)
      const unlisten = onAbort(this.restored, () => {
        cancelLimit()
        resolve()
      })
    })
  }
}

function connectionDown(): LeaseError {
  return new LeaseError('store-unavailable', 'NATS: the connection is down')
}
