import { type Ask, LeaseError, type LeaseRecord, type StoreEvent } from '../../core/index.ts'
import type { Hearing, Subscriber } from './client.ts'
import { quietly, Watchers } from './watchers.ts'

const IDLE_MS = 2000
const REOPEN_MS = [50, 200, 1000, 2000]

/** Whom to tell what comes in for one id: that it is its turn, or that its lease was ended. */
interface Party {
  readonly resource: string
  wake: Ask['wake']
  readonly lost: Ask['lost']
  held: boolean
}

interface PushOptions {
  readonly prefix: string
  /** The script may publish on another node than the one that we listen to, where it cannot count us. */
  readonly elsewhere: boolean
  readonly open: (hear: Hearing) => Promise<Subscriber>
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
  readonly #parties = new Map<string, Party>()
  readonly #watchers: Watchers
  #subscriber: Subscriber | undefined
  #opening: Promise<Subscriber> | undefined
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

  async open(): Promise<Subscriber> {
    this.#used = true
    if (this.#subscriber) return this.#subscriber
    this.#opening ??= this.#open()
    return this.#opening
  }

  /** Before the ask is sent: what concerns it may come in before its answer does. */
  expect({ resource, id, wake, lost }: Ask): void {
    this.#used = true
    if (wake || lost) this.#parties.set(id, { resource, wake, lost, held: false })
  }

  granted(id: string): void {
    const party = this.#parties.get(id)
    if (!party) return
    party.wake = undefined
    party.held = true
    if (!party.lost) this.forget(id)
    // In the background: the caller has its lease already.
    else if (!this.isOpen) this.open().catch(() => this.#openLater())
  }

  forget(id: string): void {
    this.#parties.delete(id)
  }

  async watch(on: (event: StoreEvent) => void, prefix: string): Promise<AsyncDisposable> {
    const subscriber = await this.open()
    await subscriber.subscribe(this.#changes)
    const watcher = { on, prefix }
    await this.#watchers.add(watcher)
    return {
      [Symbol.asyncDispose]: async () => {
        this.#used = true
        this.#watchers.delete(watcher)
        if (this.#watchers.size === 0) await this.#subscriber?.unsubscribe(this.#changes).catch(() => {})
      },
    }
  }

  close(): void {
    this.#closed = true
    this.#parties.clear()
    this.#watchers.clear()
    this.#disconnect()
  }

  async #open(): Promise<Subscriber> {
    try {
      const subscriber = await this.#options.open({
        message: (channel, message) => quietly(() => this.#onMessage(channel, message)),
        broken: () => this.#onBroken(),
      })
      try {
        await subscriber.subscribe(this.#wakes)
        if (this.#watchers.size > 0) await subscriber.subscribe(this.#changes)
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
    return this.#parties.size > 0 || this.#watchers.size > 0
  }

  #onBroken(): void {
    this.#disconnect()
    this.#openLater()
  }

  #openLater(): void {
    if (this.isOpen || this.#closed) return
    const pause = REOPEN_MS[Math.min(this.#failures++, REOPEN_MS.length - 1)] ?? 0
    this.#later(pause, () => {
      if (this.#needed) this.open().catch(() => this.#openLater())
    })
  }

  #later(ms: number, run: () => void): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(run, ms)
    this.#timer.unref()
  }

  #disconnect(): void {
    clearTimeout(this.#timer)
    this.#subscriber?.close()
    this.#subscriber = undefined
  }

  #makeUp(): void {
    for (const { wake } of this.#parties.values()) wake?.(0)
    this.#watchers.tellGap()
    void this.#checkHeld()
  }

  async #checkHeld(): Promise<void> {
    const held = [...this.#parties].filter(([, { held }]) => held)
    if (held.length === 0) return
    const found = await this.#options.read(held.map(([, { resource }]) => resource)).catch(() => [])
    for (const [index, [id]] of held.entries()) {
      const lease = found[index]
      if (lease !== undefined && lease?.id !== id) this.#onLost(id)
    }
  }

  #onMessage(channel: string, message: string): void {
    if (channel === this.#changes) this.#watchers.tellChange(message)
    else this.#onCall(message.split(' '))
  }

  #onCall(words: readonly string[]): void {
    const id = decodeURIComponent(words.at(-1) ?? '')
    if (words[0] === 'wake') this.#parties.get(id)?.wake?.(Number(words[1]))
    else this.#onLost(id)
  }

  #onLost(id: string): void {
    const party = this.#parties.get(id)
    this.#parties.delete(id)
    if (party?.lost) quietly(party.lost)
  }
}
