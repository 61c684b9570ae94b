import type { Stop } from '../../base/abort.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import { randomId } from '../../base/random-id.ts'
import type { LeaseRecord } from '../../base/records.ts'
import type { RedisDatabase, RedisSubscriber } from '../../clients/redis.ts'
import { redisError } from '../../clients/redis-errors.ts'
import type { StoreEvent } from '../../core/index.ts'
import type { Calls } from '../local/calls.ts'
import type { LocalListeners } from '../local/listeners.ts'
import { PushConnection } from '../local/push-connection.ts'
import type { Batches } from './batches.ts'
import { ALL_SHARDS, watchedOf } from './names.ts'
import { WATCHED_MS } from './options.ts'
import { unpackChange } from './rows.ts'

export interface PushOptions {
  readonly prefix: string
  /** The client whose connection is duplicated. */
  readonly redis: RedisDatabase
  /** The script may publish on another node than the one where this store listens, and cannot count listeners there. */
  readonly isCluster: boolean
  readonly batches: Batches
  readonly calls: Calls
  readonly listeners: LocalListeners
  /** Reads leases again whose end may have been missed. */
  readonly read: (resources: readonly string[], stop: Stop) => Promise<LeaseRecord[][]>
  readonly clock?: Clock | undefined
}

/**
 * What the script publishes for this store. Wake-ups and losses come on a channel of its own: the script takes a
 * channel without listeners for that of a dead process, so a waiter joins the queue only while the connection is open.
 * Changes come on a channel of all stores. Most stores have no watcher, so the script publishes changes only while the
 * stores that watch repeat that they do.
 */
export class Push {
  /** The name of this store among all others on the same server. */
  readonly channel: string
  readonly #options: PushOptions
  readonly #clock: Clock
  readonly #connection: PushConnection<RedisSubscriber>
  readonly #changes: string
  #cancelAnnouncement: (() => void) | undefined

  constructor(options: PushOptions) {
    const { prefix, isCluster, listeners, clock = systemClock } = options
    this.#options = options
    this.#clock = clock
    this.channel = `${isCluster ? '*' : ''}${randomId()}`
    this.#changes = `${prefix}:changes`
    this.#connection = new PushConnection({
      clock,
      open: (broken, stop) => this.#subscribe(broken, stop),
      close: (subscriber) => subscriber.close(),
      isNeeded: () => listeners.isNeeded,
      opened: (_, missed) => this.#catchUp(missed),
    })
  }

  get isOpen(): boolean {
    return this.#connection.connection !== undefined
  }

  async open(): Promise<void> {
    await this.#connection.open()
  }

  /** What happens until it is open is read then. */
  openForHolder(lease: LeaseRecord): void {
    this.#connection.openForHolder(lease, this.#options.listeners)
  }

  async watch(
    on: (event: StoreEvent) => void,
    prefix: string | undefined,
    stop: Stop,
  ): Promise<AsyncDisposable> {
    const { listeners } = this.#options
    const hasOthers = listeners.isWatched
    // Registered first, so that a connection that breaks meanwhile is opened again with the changes.
    const watch = listeners.watch(on, prefix)
    const unwatch = async () => {
      await watch[Symbol.asyncDispose]()
      if (!listeners.isWatched) await this.#connection.connection?.unsubscribe(this.#changes).catch(() => {})
    }
    try {
      const subscriber = await this.#connection.open()
      await subscriber.subscribe(this.#changes)
      const isKnown = await this.#announce(stop)
      // The others may have missed changes. The next announcement would not find that any more.
      if (hasOthers && !isKnown) listeners.tellGap()
      stop.throwIfAborted()
    } catch (error) {
      await unwatch()
      throw error
    }
    this.#announceLater()
    return { [Symbol.asyncDispose]: unwatch }
  }

  async close(): Promise<void> {
    this.#cancelAnnouncement?.()
    await this.#connection.close()
  }

  async #subscribe(broken: () => void, stop: AbortSignal): Promise<RedisSubscriber> {
    const { prefix, redis, listeners } = this.#options
    const message = (channel: string, text: string) => this.#onMessage(channel, text)
    let subscriber: RedisSubscriber | undefined
    try {
      subscriber = await redis.subscriber({ message, broken, stop })
      await subscriber.subscribe(`${prefix}:wake:${this.channel}`)
      if (listeners.isWatched) await subscriber.subscribe(this.#changes)
      return subscriber
    } catch (error) {
      subscriber?.close()
      throw redisError(error)
    }
  }

  /** After a break, waiters ask again and watchers hear of a gap. Leases may have ended even before the first open. */
  #catchUp(missed: boolean): void {
    const { listeners, calls, read } = this.#options
    if (missed) {
      listeners.wakeAll()
      listeners.tellGap()
    }
    const held = listeners.held()
    if (held.length === 0) return
    const resources = held.map(({ resource }) => resource)
    calls
      .run((stop) => read(resources, stop))
      .then(
        (found) => listeners.checkHeld(held, found),
        // The manager's next renewal finds out.
        () => {},
      )
  }

  /** Tells the script that somebody watches. False: some shard did not know, so changes may have been missed. */
  async #announce(stop: Stop): Promise<boolean> {
    const { prefix, batches } = this.#options
    const args = ['watch', String(WATCHED_MS)]
    const replies = await Promise.all(
      ALL_SHARDS.map((shard) => batches.run({ shard, keys: [watchedOf(prefix, shard)], args }, stop)),
    )
    return replies.every(({ value }) => value === 'known')
  }

  #announceLater(): void {
    const { listeners, calls } = this.#options
    this.#cancelAnnouncement ??= this.#clock.setTimer(
      () => {
        this.#cancelAnnouncement = undefined
        if (!listeners.isWatched) return
        this.#announceLater()
        calls
          .run((stop) => this.#announce(stop))
          .then(
            (isKnown) => isKnown || listeners.tellGap(),
            // If the script forgets us meanwhile, a later announcement reports that.
            () => {},
          )
      },
      WATCHED_MS / 3,
      true,
    )
  }

  /** Everybody may publish on these channels, so a malformed message is skipped. */
  #onMessage(channel: string, text: string): void {
    const { listeners } = this.#options
    try {
      if (channel === this.#changes) {
        listeners.tellChange(unpackChange(text))
        return
      }
      const [, verb, number, id = ''] = /^(wake|lost) (\d+) (\S+)$/.exec(text) ?? []
      if (verb === 'wake') listeners.wake(decodeURIComponent(id), Number(number))
      else if (verb === 'lost') listeners.ended(decodeURIComponent(id), Number(number))
    } catch {
      // Malformed.
    }
  }
}
