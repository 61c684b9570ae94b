/** What the server pushes to an HTTP store: wake-ups, losses, and every change for watchers. */
import * as v from 'valibot'
import { orAborted } from '../base/abort.ts'
import type { Clock } from '../base/clock.ts'
import { LeaseError } from '../base/errors.ts'
import type { LeaseRecord } from '../base/records.ts'
import type { StoreEvent } from '../core/index.ts'
import {
  clientChannel,
  LEASES_CHANNEL,
  leaseChangeEvent,
  leaseLostEvent,
  leaseWakeEvent,
} from '../protocol/index.ts'
import type { LocalListeners } from '../stores/local/listeners.ts'
import type { Body } from './api.ts'
import { createSocket, type Socket, type SocketOptions } from './socket.ts'

/** How long the client's channel stays subscribed after the last waiter or holder has gone. */
const IDLE_MS = 2000
const NO_SOCKET =
  'no WebSocket to the server: it is down, or a proxy blocks WebSockets, or key is not its channelKey'

export interface HttpPushOptions extends Pick<SocketOptions, 'url' | 'key' | 'api'> {
  readonly clientId: string
  readonly listeners: LocalListeners
  readonly clock: Clock
  readonly read: (resources: readonly string[]) => Promise<readonly (LeaseRecord | null)[]>
}

/** Somebody who waits until a channel is joined. */
interface Joiner {
  readonly channel: string
  readonly resolve: () => void
  readonly reject: (error: LeaseError) => void
}

export class HttpPush {
  readonly #listeners: LocalListeners
  readonly #clock: Clock
  readonly #read: HttpPushOptions['read']
  readonly #socket: Socket
  /** The private channel of this client, for wake-ups and losses. */
  readonly #ownChannel: string
  readonly #joiners = new Set<Joiner>()
  #cancelIdle: (() => void) | undefined

  constructor({ url, key, api, clientId, listeners, clock, read }: HttpPushOptions) {
    this.#listeners = listeners
    this.#clock = clock
    this.#read = read
    this.#ownChannel = clientChannel(clientId)
    this.#socket = createSocket({
      url,
      key,
      clock,
      api,
      onEvent: (_, event, data) => this.#onEvent(event, data),
      onJoined: (channel, again) => this.#onJoined(channel, again),
      onRefused: (channel, error) => this.#onRefused(channel, error),
      onConnection: (connected) => {
        // The socket keeps trying. Those who wait for it hear of the first failure.
        if (!connected) this.#rejectJoiners(new LeaseError('store-unavailable', NO_SOCKET))
      },
    })
  }

  /** Whether wake-ups arrive now. */
  get isOpen(): boolean {
    return this.#socket.isJoined(this.#ownChannel)
  }

  /** Resolves when wake-ups arrive. Rejects if the connection cannot be opened now. */
  async open(signal: AbortSignal): Promise<void> {
    this.openForHolder()
    await this.#joined(this.#ownChannel, signal)
  }

  /** A holder hears of its loss as soon as the connection is open. */
  openForHolder(): void {
    this.#socket.subscribe(this.#ownChannel)
    this.#cancelIdle ??= this.#closeWhenIdle()
  }

  async watch(
    on: (event: StoreEvent) => void,
    prefix: string,
    signal: AbortSignal,
  ): Promise<AsyncDisposable> {
    const watch = this.#listeners.watch(on, prefix)
    const end = async () => {
      await watch[Symbol.asyncDispose]()
      if (!this.#listeners.isWatched) this.#socket.unsubscribe(LEASES_CHANNEL)
    }
    try {
      await this.#joined(LEASES_CHANNEL, signal)
    } catch (error) {
      await end()
      throw error
    }
    return { [Symbol.asyncDispose]: end }
  }

  close(): void {
    this.#cancelIdle?.()
    this.#socket.close()
  }

  async #joined(channel: string, signal: AbortSignal): Promise<void> {
    this.#socket.subscribe(channel)
    if (this.#socket.isJoined(channel)) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const joiner = { channel, resolve, reject }
    this.#joiners.add(joiner)
    try {
      await orAborted(promise, signal)
    } finally {
      this.#joiners.delete(joiner)
    }
  }

  #onJoined(channel: string, again: boolean): void {
    for (const joiner of this.#joiners) if (joiner.channel === channel) joiner.resolve()
    if (again && channel === LEASES_CHANNEL) this.#listeners.tellGap()
    if (channel !== this.#ownChannel) return
    if (again) this.#listeners.wakeAll()
    // A lease may have been ended before the channel was joined.
    void this.#checkHeld()
  }

  #onRefused(channel: string, error: LeaseError): void {
    this.#rejectJoiners(error, channel)
    // The next caller tries again.
    this.#socket.unsubscribe(channel)
  }

  #rejectJoiners(error: LeaseError, channel?: string): void {
    for (const joiner of this.#joiners)
      if ((channel ?? joiner.channel) === joiner.channel) joiner.reject(error)
  }

  #onEvent(event: string, data: Body): void {
    if (event === 'lease.wake' && v.is(leaseWakeEvent, data)) this.#listeners.wake(data.id, data.in_ms)
    if (event === 'lease.lost' && v.is(leaseLostEvent, data)) {
      const held = this.#listeners.held().find(({ id }) => id === data.id)
      // Without a lease here, its grant is still on the way, and the event does not name its token.
      this.#listeners.ended(data.id, held?.token ?? Infinity)
    }
    if (event === 'lease.gap') this.#listeners.tellGap()
    // The server shows nobody the ids of other clients' leases.
    if (event === 'lease.change' && v.is(leaseChangeEvent, data))
      this.#listeners.tellChange({ ...data.lease, id: '' } as LeaseRecord)
  }

  #closeWhenIdle(): () => void {
    return this.#clock.setTimer(
      () => {
        this.#cancelIdle = this.#listeners.isNeeded ? this.#closeWhenIdle() : undefined
        if (!this.#cancelIdle) this.#socket.unsubscribe(this.#ownChannel)
      },
      IDLE_MS,
      true,
    )
  }

  async #checkHeld(): Promise<void> {
    const held = this.#listeners.held()
    if (held.length === 0) return
    const found = await this.#read(held.map(({ resource }) => resource)).catch(() => [])
    this.#listeners.checkHeld(held, found)
  }
}
