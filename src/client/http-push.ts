/** What the server pushes to an HTTP store: wake-ups, losses, and every change for watchers. */
import * as v from 'valibot'
import { orAborted } from '../base/abort.ts'
import type { Clock } from '../base/clock.ts'
import { LeaseError } from '../base/errors.ts'
import { pause } from '../base/pause.ts'
import type { LeaseRecord } from '../base/records.ts'
import type { StoreEvent } from '../core/index.ts'
import {
  clientChannel,
  fromWire,
  LEASES_CHANNEL,
  leaseChangeEvent,
  leaseLostEvent,
  leaseWakeEvent,
} from '../protocol/index.ts'
import type { LocalListeners } from '../stores/local/listeners.ts'
import type { Body } from './api.ts'
import { PUSH_IDLE_MS, PUSH_OPEN_LIMIT_MS } from './rare-options.ts'
import { Socket, type SocketOptions } from './socket.ts'

const NO_SOCKET =
  'no WebSocket to the server: it is down, or a proxy blocks WebSockets, or key is not its channelKey'

export interface HttpPushOptions extends Pick<SocketOptions, 'url' | 'key' | 'api' | 'clock'> {
  readonly clientId: string
  readonly listeners: LocalListeners
  readonly read: (resources: readonly string[]) => Promise<readonly (readonly LeaseRecord[])[]>
}

export class HttpPush {
  readonly #listeners: LocalListeners
  readonly #clock: Clock
  readonly #read: HttpPushOptions['read']
  /** Wake-ups and losses of this client. */
  readonly #own: PushChannel
  /** Every change of every lease. */
  readonly #all: PushChannel
  #cancelIdle: (() => void) | undefined

  constructor({ url, key, api, clock, clientId, listeners, read }: HttpPushOptions) {
    this.#listeners = listeners
    this.#clock = clock
    this.#read = read
    this.#own = new PushChannel({
      url,
      key,
      api,
      clock,
      channels: [clientChannel(clientId)],
      onEvent: (event, data) => this.#onOwnEvent(event, data),
      onJoined: (again) => {
        if (again) listeners.wakeAll()
        // A lease may have been ended before the channel was joined.
        void this.#checkHeld()
      },
    })
    this.#all = new PushChannel({
      url,
      key,
      api,
      clock,
      channels: [LEASES_CHANNEL],
      onEvent: (event, data) => this.#onLeaseEvent(event, data),
      onJoined: (again) => {
        if (again) listeners.tellGap()
      },
    })
  }

  /** Whether wake-ups arrive now. */
  get isOpen(): boolean {
    return this.#own.socket.isJoined
  }

  /** Resolves when wake-ups arrive. Rejects if the connection cannot be opened now. */
  async open(signal: AbortSignal): Promise<void> {
    this.openForHolder()
    const limit = pause(this.#clock, PUSH_OPEN_LIMIT_MS, { background: true }).then(() => {
      throw new LeaseError('store-unavailable', NO_SOCKET)
    })
    await Promise.race([this.#own.join(signal), limit])
  }

  /** A holder hears of its loss as soon as the connection is open. */
  openForHolder(): void {
    this.#own.socket.open()
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
      if (!this.#listeners.isWatched) this.#all.socket.close()
    }
    try {
      await this.#all.join(signal)
    } catch (error) {
      await end()
      throw error
    }
    return { [Symbol.asyncDispose]: end }
  }

  close(): void {
    this.#cancelIdle?.()
    this.#own.socket.close()
    this.#all.socket.close()
  }

  #onOwnEvent(event: string, data: Body): void {
    const listeners = this.#listeners
    if (event === 'lease.wake' && v.is(leaseWakeEvent, data)) listeners.wake(data.id, data.in_ms)
    if (event === 'lease.lost' && v.is(leaseLostEvent, data)) {
      const held = listeners.held().find(({ id }) => id === data.id)
      // Without a lease here, its grant is still on the way, and the event does not name its token.
      listeners.ended(data.id, held?.token ?? Infinity)
    }
  }

  #onLeaseEvent(event: string, data: Body): void {
    if (event === 'lease.gap') this.#listeners.tellGap()
    // The server shows nobody the ids of other clients' leases.
    if (event === 'lease.change' && v.is(leaseChangeEvent, data))
      this.#listeners.tellChange({ ...fromWire(data.lease), id: '' } as LeaseRecord)
  }

  #closeWhenIdle(): () => void {
    return this.#clock.setTimer(
      () => {
        this.#cancelIdle = this.#listeners.isNeeded ? this.#closeWhenIdle() : undefined
        if (!this.#cancelIdle) this.#own.socket.close()
      },
      PUSH_IDLE_MS,
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

/** A channel that callers can wait for. The socket keeps trying, but they hear of the first failure. */
class PushChannel {
  readonly socket: Socket
  #joining: PromiseWithResolvers<void> | undefined

  constructor(options: Omit<SocketOptions, 'onConnection' | 'onRefused'>) {
    this.socket = new Socket({
      ...options,
      onJoined: (again) => {
        this.#takeJoining()?.resolve()
        options.onJoined(again)
      },
      onRefused: (error) => {
        const joining = this.#takeJoining()
        joining?.reject(error)
        // The next caller tries again. Without one, the next connection does.
        if (joining) this.socket.close()
      },
      onConnection: (connected) => {
        if (!connected) this.#takeJoining()?.reject(new LeaseError('store-unavailable', NO_SOCKET))
      },
    })
  }

  async join(signal: AbortSignal): Promise<void> {
    this.socket.open()
    if (this.socket.isJoined) return
    this.#joining ??= Promise.withResolvers<void>()
    await orAborted(this.#joining.promise, signal)
  }

  #takeJoining(): PromiseWithResolvers<void> | undefined {
    const joining = this.#joining
    this.#joining = undefined
    return joining
  }
}
