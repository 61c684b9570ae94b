import type { RedisSubscriber, SubscriberHooks } from '../../clients/redis.ts'
import { LeaseError, type LeaseRecord, type StoreEvent } from '../../core/index.ts'
import { Parties } from './parties.ts'
import { quietly, type Watcher, Watchers } from './watchers.ts'

const HELD_FOR_MS = 200
const IDLE_MS = 2000
const REOPEN_MS = [50, 200, 1000, 2000]

interface PushOptions {
  readonly prefix: string
  /** The script may publish on another node than the one that we listen to, where it cannot count us. */
  readonly elsewhere: boolean
  readonly open: (hear: SubscriberHooks) => Promise<RedisSubscriber>
  readonly read: (resources: readonly string[]) => Promise<readonly (LeaseRecord | null)[]>
  readonly announce: () => Promise<boolean>
}

/**
 * The one connection on which a store listens: opened when somebody waits, watches or holds a lease, closed when
 * that has been over for a while. A waiter stands in line only while it is open, since the script takes a channel
 * without listeners for a dead process. Whatever was published while it was broken is made up for when it is back:
 * waiters ask again, watchers hear of a gap, and the leases that are held are read.
 */
export class Push {
  /** Names this store among all others on the same server. */
  readonly channel: string
  readonly #options: PushOptions
  readonly #wakes: string
  readonly #changes: string
  readonly parties = new Parties()
  readonly #watchers: Watchers
  /** Also those who are not told yet, since the script has to learn of them first. */
  readonly #watching = new Set<Watcher>()
  #subscriber: RedisSubscriber | undefined
  #opening: Promise<RedisSubscriber> | undefined
  #failures = 0
  #used = false
  #closed = false
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(options: PushOptions) {
    this.#options = options
    this.channel = `${options.elsewhere ? '*' : ''}${crypto.randomUUID()}`
    this.#wakes = `${options.prefix}:wake:${this.channel}`
    this.#changes = `${options.prefix}:changes`
    this.#watchers = new Watchers(options.announce)
  }

  get isOpen(): boolean {
    return this.#subscriber !== undefined
  }

  async open(): Promise<RedisSubscriber> {
    this.#used = true
    if (this.#subscriber) return this.#subscriber
    this.#opening ??= this.#open()
    return this.#opening
  }

  /** Somebody holds a lease now. Most are given back before a connection would pay; what it misses is read. */
  openForHolder(): void {
    if (this.parties.size === 0) return
    this.#used = true
    if (!this.isOpen && !this.#opening && !this.#timer) this.#openIn(HELD_FOR_MS)
  }

  async watch(on: (event: StoreEvent) => void, prefix: string): Promise<AsyncDisposable> {
    const watcher = { on, prefix }
    this.#watching.add(watcher)
    try {
      const subscriber = await this.open()
      await subscriber.subscribe(this.#changes)
      await this.#watchers.add(watcher)
    } catch (error) {
      this.#unwatch(watcher)
      throw error
    }
    return { [Symbol.asyncDispose]: async () => this.#unwatch(watcher) }
  }

  close(): void {
    this.#closed = true
    this.parties.clear()
    this.#watching.clear()
    this.#watchers.clear()
    this.#disconnect()
  }

  async #open(): Promise<RedisSubscriber> {
    try {
      const subscriber = await this.#options.open({
        message: (channel, message) => quietly(() => this.#onMessage(channel, message)),
        broken: () => this.#onBroken(),
      })
      try {
        await subscriber.subscribe(this.#wakes)
        if (this.#watching.size > 0) await subscriber.subscribe(this.#changes)
        if (this.#closed) throw new LeaseError('closed', 'this redis store was closed')
      } catch (error) {
        subscriber.close()
        throw error
      }
      this.#subscriber = subscriber
      this.#failures = 0
      this.#closeWhenIdle()
      this.#makeUp()
      return subscriber
    } finally {
      this.#opening = undefined
    }
  }

  #closeWhenIdle(): void {
    this.#later(IDLE_MS, () => {
      if (this.#needed || this.#used) this.#closeWhenIdle()
      else this.#disconnect()
      this.#used = false
    })
  }

  get #needed(): boolean {
    return this.parties.size > 0 || this.#watching.size > 0
  }

  #unwatch(watcher: Watcher): void {
    this.#used = true
    this.#watching.delete(watcher)
    this.#watchers.delete(watcher)
    if (this.#watching.size === 0) this.#subscriber?.unsubscribe(this.#changes).catch(() => {})
  }

  #onBroken(): void {
    this.#disconnect()
    this.#openAgain()
  }

  #openAgain(): void {
    this.#openIn(REOPEN_MS[Math.min(this.#failures++, REOPEN_MS.length - 1)] ?? 0)
  }

  #openIn(ms: number): void {
    if (this.isOpen || this.#closed) return
    this.#later(ms, () => {
      if (this.#needed) this.open().catch(() => this.#openAgain())
    })
  }

  #later(ms: number, run: () => void): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      run()
    }, ms)
    this.#timer.unref()
  }

  #disconnect(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#subscriber?.close()
    this.#subscriber = undefined
  }

  #makeUp(): void {
    this.parties.wakeAll()
    this.#watchers.tellGap()
    void this.#checkHeld()
  }

  async #checkHeld(): Promise<void> {
    const held = this.parties.leases()
    if (held.length === 0) return
    const found = await this.#options.read(held.map(({ resource }) => resource)).catch(() => [])
    for (const [index, { id, token }] of held.entries()) {
      const lease = found[index]
      if (lease !== undefined && lease?.id !== id) this.parties.ended(id, token)
    }
  }

  #onMessage(channel: string, message: string): void {
    if (channel === this.#changes) this.#watchers.tellChange(message)
    else this.parties.hear(message)
  }
}
