import { systemClock } from '../../base/clock.ts'
import { LeaseError } from '../../base/errors.ts'
import { pause } from '../../base/pause.ts'
import { randomId } from '../../base/random-id.ts'
import type { OpenListener, PostgresListener } from '../../clients/postgres.ts'
import type { Queries } from './queries.ts'

/** If a probe takes longer, the connection does not deliver notifications. */
const DELIVERED_WITHIN_MS = 2000
const IN_BACKGROUND = { background: true }

/** Runs queries through the ordinary client, within the limits of a call. */
export type RunQueries = <T>(work: (queries: Queries) => Promise<T>) => Promise<T>

/** An open connection that delivers notifications. */
export interface ListeningConnection {
  readonly listener: PostgresListener
  /** Where other processes reach this store: `channel pid start`, or only `channel` if the rest is unknown. */
  readonly address: string
}

export interface NotificationsOptions {
  readonly openListener: OpenListener
  readonly run: RunQueries
  received(channel: string, payload: string): void
}

/**
 * Opens and checks the connections on which a store receives notifications, all on the same channel. A pooler that
 * shares connections accepts LISTEN without an error and delivers nothing. So the store sends a probe to itself
 * through the ordinary client, and looks whether it arrives.
 */
export class Notifications {
  readonly #options: NotificationsOptions
  readonly channel = `holdfast_${randomId().replaceAll('-', '')}`
  #probes = 0
  #onProbe: (payload: string) => void = () => {}

  constructor(options: NotificationsOptions) {
    this.#options = options
  }

  async open(broken: () => void): Promise<ListeningConnection> {
    let isBroken = false
    const listener = await this.#options.openListener({
      notified: (channel, payload) => this.#notified(channel, payload),
      dropped: () => {
        isBroken = true
        broken()
      },
    })
    try {
      await listener.listen(this.channel)
      const { delivered, start } = await this.#probe(listener)
      if (!delivered && !isBroken)
        throw new LeaseError(
          'store-failed',
          'Postgres: notifications do not arrive, because a pooler shares the connection: pass a direct one with ' +
            'the option listen',
        )
      const { pid } = listener
      return { listener, address: start === null ? this.channel : `${this.channel} ${pid} ${start}` }
    } catch (error) {
      listener.close().catch(() => {})
      throw error
    }
  }

  /** Whether the connection still delivers. A probe that could not be sent says nothing about that. */
  async delivers({ listener }: ListeningConnection): Promise<boolean> {
    const { delivered } = await this.#probe(listener).catch(() => ({ delivered: true }))
    return delivered
  }

  /** `start`: when the server process of the connection was started; `null` if that is unknown. */
  async #probe({ pid }: PostgresListener): Promise<{ delivered: boolean; start: number | null }> {
    const payload = `probe ${++this.#probes}`
    const delivered = new Promise<boolean>((resolve) => {
      this.#onProbe = (received) => received === payload && resolve(true)
    })
    const start = await this.#options.run((queries) => queries.probe(this.channel, payload, pid))
    const silence = pause(systemClock, DELIVERED_WITHIN_MS, IN_BACKGROUND)
      // After a standstill of the process, its timers run before it reads the notification that has arrived.
      .then(() => pause(systemClock, 0, IN_BACKGROUND))
      .then(() => false)
    return { delivered: await Promise.race([delivered, silence]), start }
  }

  #notified(channel: string, payload: string): void {
    if (channel === this.channel && payload.startsWith('probe ')) this.#onProbe(payload)
    else this.#options.received(channel, payload)
  }
}
