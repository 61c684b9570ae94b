import { type Clock, systemClock } from '../../base/clock.ts'
import { PushConnection } from '../../stores/local/push-connection.ts'
import { ECHO_LIMIT_MS } from '../options.ts'
import type { TransportContext } from './create-bus.ts'

/** A connection that receives texts. */
export interface Connection {
  close(): unknown
}

export interface ConnectionHooks {
  received(text: string): void
  /** The connection may receive nothing more. */
  broken(): void
}

export interface ListeningConnectionOptions extends TransportContext {
  readonly open: (hooks: ConnectionHooks) => Promise<Connection>
  readonly clock?: Clock | undefined
}

/** The one connection on which a bus listens. A bus receives its own messages, which shows that it is alive. */
export class ListeningConnection {
  readonly #options: ListeningConnectionOptions
  readonly #clock: Clock
  readonly #push: PushConnection<Connection>
  #cancelEchoLimit: (() => void) | undefined

  constructor(options: ListeningConnectionOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#push = new PushConnection<Connection>({
      clock: this.#clock,
      open: (broken) => this.#open(broken),
      close: (connection) => connection.close(),
      isNeeded: options.isNeeded,
      opened() {},
    })
  }

  async open(): Promise<void> {
    await this.#push.open()
  }

  closeIfUnneeded(): Promise<void> {
    return this.#push.closeIfUnneeded()
  }

  /** Call it when the backend has accepted a message: the connection is replaced if nothing arrives soon. */
  expectEcho(): void {
    const { connection } = this.#push
    if (connection)
      this.#cancelEchoLimit ??= this.#clock.setTimer(() => this.#push.drop(connection), ECHO_LIMIT_MS, true)
  }

  async #open(broken: () => void): Promise<Connection> {
    const { open, received, calls } = this.#options
    // A connection that was given up may still receive, or open after all.
    let isInUse = true
    const opening = open({
      received: (text) => {
        if (!isInUse) return
        this.#forgetEchoLimit()
        received(text)
      },
      broken,
    })
    const close = async () => {
      isInUse = false
      this.#forgetEchoLimit()
      await (await opening).close()
    }
    try {
      await calls.run(() => opening)
    } catch (error) {
      close().catch(() => {})
      throw error
    }
    return { close }
  }

  #forgetEchoLimit(): void {
    this.#cancelEchoLimit?.()
    this.#cancelEchoLimit = undefined
  }
}
