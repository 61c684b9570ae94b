import { systemClock } from '../../base/clock.ts'
import { LeaseError } from '../../base/errors.ts'
import { pause } from '../../base/pause.ts'
import type { LeaseRecord, StoreEvent } from '../../core/index.ts'
import type { LocalListeners } from '../local/listeners.ts'
import type { PushConnection } from '../local/push-connection.ts'
import type { ListeningConnection, RunQueries } from './notifications.ts'
import { WRITERS_EVERY_MS, WRITERS_LIMIT_MS } from './options.ts'
import { withShare } from './queries.ts'

export interface ChangeFeedOptions {
  readonly listeners: LocalListeners
  readonly connection: PushConnection<ListeningConnection>
  readonly run: RunQueries
}

/**
 * Passes changes on to watchers. A change of a lease is announced only while `meta.watch_until` is in the
 * future. So a store with watchers moves that time forward, 30 s ahead, every 10 s.
 */
export class ChangeFeed {
  readonly #options: ChangeFeedOptions
  /** Watchers, including those that have not started yet. */
  #users = 0
  #channel: string | undefined
  /** Settles when all changes arrive on the current connection. */
  #started: Promise<void> | undefined

  constructor(options: ChangeFeedOptions) {
    this.#options = options
  }

  get isNeeded(): boolean {
    return this.#users > 0
  }

  async watch(on: (event: StoreEvent) => void, prefix: string): Promise<AsyncDisposable> {
    const { listeners, connection } = this.#options
    this.#users++
    try {
      await connection.open()
      await this.#start()
    } catch (error) {
      this.#leave()
      throw error
    }
    const watcher = listeners.watch(on, prefix)
    let ended = false
    return {
      [Symbol.asyncDispose]: async () => {
        if (ended) return
        ended = true
        await watcher[Symbol.asyncDispose]()
        this.#leave()
      },
    }
  }

  /** Call it when a connection was opened. Watchers of an earlier connection may have missed something. */
  restart(): void {
    this.#started = undefined
    if (!this.isNeeded) return
    // After a failure, the next `keepUp` tries again.
    this.#start().then(
      () => this.#options.listeners.tellGap(),
      () => {},
    )
  }

  /** Changes are announced for 30 s after a call, so call it more often. */
  async keepUp(): Promise<void> {
    if (!this.isNeeded) return
    if (!this.#started) return this.restart()
    const { lapsed } = await this.#options.run((queries) => queries.watch())
    if (lapsed) this.#options.listeners.tellGap()
  }

  /** Returns whether the notification was a change. */
  received(channel: string, payload: string): boolean {
    if (channel !== this.#channel) return false
    const { listeners } = this.#options
    const lease = parse(payload)
    if (!lease) listeners.tellGap()
    else if (lease.id === undefined) void this.#readAndTell(lease.resource)
    else listeners.tellChange(withShare(lease))
    return true
  }

  #start(): Promise<void> {
    if (this.#started) return this.#started
    const started = this.#listenForChanges().catch((error) => {
      if (this.#started === started) this.#started = undefined
      throw error
    })
    this.#started = started
    return started
  }

  async #listenForChanges(): Promise<void> {
    const { connection, run } = this.#options
    const { channel, lapsed } = await run((queries) => queries.watch())
    const listener = connection.connection?.listener
    if (!listener)
      throw new LeaseError('store-unavailable', 'Postgres: the connection for notifications was lost')
    this.#channel = channel
    await listener.listen(channel)
    listener.keepAlive(true)
    if (lapsed) await this.#waitForWriters()
  }

  /** Waits for the transactions that have changed the table before they could see that somebody watches. */
  async #waitForWriters(): Promise<void> {
    const readWriters = () => this.#options.run((queries) => queries.writers())
    const giveUpAt = systemClock.monotonic() + WRITERS_LIMIT_MS
    let unaware = await readWriters()
    while (unaware.length > 0 && systemClock.monotonic() < giveUpAt) {
      await pause(systemClock, WRITERS_EVERY_MS)
      const writers = await readWriters()
      unaware = unaware.filter((transaction) => writers.includes(transaction))
    }
  }

  #leave(): void {
    this.#users--
    const listener = this.#options.connection.connection?.listener
    if (this.isNeeded || !this.#channel || !listener) return
    this.#started = undefined
    listener.keepAlive(false)
    listener.unlisten(this.#channel).catch(() => {})
    this.#channel = undefined
  }

  async #readAndTell(resource: string): Promise<void> {
    const { listeners, run } = this.#options
    const [leases = []] = await run((queries) => queries.read([resource])).catch(() => [])
    for (const lease of leases) listeners.tellChange(lease)
    if (leases.length === 0) listeners.tellGap()
  }
}

/** A lease, or only its resource if the rest did not fit into the notification. */
function parse(payload: string): LeaseRecord | undefined {
  try {
    const lease = JSON.parse(payload)
    return typeof lease?.resource === 'string' ? lease : undefined
  } catch {
    return undefined
  }
}
