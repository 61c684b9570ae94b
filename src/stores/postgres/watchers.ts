import { LeaseError, type LeaseRecord, type StoreEvent, systemClock } from '../../core/index.ts'
import type { Inbox } from './inbox.ts'
import type { Queries } from './queries.ts'

const OPEN_LIMIT_MS = 4000
/** A transaction that takes longer is waiting for a lock, and will find out that it is watched. */
const WRITERS_LIMIT_MS = 1000
const LOOK_EVERY_MS = 10

interface Watcher {
  readonly on: (event: StoreEvent) => void
  readonly prefix: string
  /** It was promised to hear everything, so it must be told of a gap. */
  promised: boolean
}

/** Those who are told of every change. Changes are announced only while `watch()` says that somebody listens. */
export class Watchers {
  readonly #inbox: Inbox
  readonly #queries: () => Queries | Promise<Queries>
  readonly #watchers = new Set<Watcher>()
  #channel: string | undefined
  #attuning: Promise<void> | undefined

  constructor(inbox: Inbox, queries: () => Queries | Promise<Queries>) {
    this.#inbox = inbox
    this.#queries = queries
  }

  get size(): number {
    return this.#watchers.size
  }

  async add(on: (event: StoreEvent) => void, prefix: string): Promise<AsyncDisposable> {
    const watcher: Watcher = { on, prefix, promised: false }
    this.#watchers.add(watcher)
    try {
      if ((await this.#inbox.ready(OPEN_LIMIT_MS)) === null) throw unheard(this.#inbox.deaf)
      await this.#attuned()
    } catch (error) {
      this.#remove(watcher)
      throw error
    }
    watcher.promised = true
    return { [Symbol.asyncDispose]: async () => this.#remove(watcher) }
  }

  /** The inbox hears again, after it may have missed something. */
  reopened(): void {
    this.#attuning = undefined
    if (this.size === 0) return
    // After a failure the next call of `keepUp` tries again.
    this.#attuned().then(
      () => this.#tellGap(),
      () => {},
    )
  }

  /** To be called well within the time for which changes are announced. */
  async keepUp(): Promise<void> {
    if (this.size === 0) return
    if (!this.#attuning) return this.reopened()
    const { lapsed } = await (await this.#queries()).watch()
    if (lapsed) this.#tellGap()
  }

  /** Whether the message was for watchers. */
  heard(channel: string, payload: string): boolean {
    if (channel !== this.#channel) return false
    const lease = parse(payload)
    if (!lease) this.#tellGap()
    else if (lease.id === undefined) void this.#readAndTell(lease.resource)
    else this.#tell(lease)
    return true
  }

  clear(): void {
    this.#watchers.clear()
  }

  #attuned(): Promise<void> {
    if (this.#attuning) return this.#attuning
    const attuning = this.#attune().catch((error) => {
      if (this.#attuning === attuning) this.#attuning = undefined
      throw error
    })
    this.#attuning = attuning
    return attuning
  }

  /** From when it resolves, whoever changes the table knows that it is watched. */
  async #attune(): Promise<void> {
    const queries = await this.#queries()
    const { channel, lapsed } = await queries.watch()
    const { listener } = this.#inbox
    if (!listener) throw unheard(false)
    this.#channel = channel
    await listener.listen(channel)
    listener.keepAlive(true)
    if (!lapsed) return
    const giveUpAt = systemClock.monotonic() + WRITERS_LIMIT_MS
    const unaware = new Set(await queries.writers())
    while (unaware.size > 0 && systemClock.monotonic() < giveUpAt) {
      await new Promise<void>((resolve) => systemClock.setTimer(resolve, LOOK_EVERY_MS))
      const writers = await queries.writers()
      for (const transaction of unaware) if (!writers.includes(transaction)) unaware.delete(transaction)
    }
  }

  #remove(watcher: Watcher): void {
    this.#watchers.delete(watcher)
    const { listener } = this.#inbox
    if (this.size > 0 || !this.#channel || !listener) return
    this.#attuning = undefined
    listener.keepAlive(false)
    listener.unlisten(this.#channel).catch(() => {})
    this.#channel = undefined
  }

  async #readAndTell(resource: string): Promise<void> {
    const [lease] = await Promise.resolve(this.#queries())
      .then((queries) => queries.read([resource]))
      .catch(() => [])
    if (lease) this.#tell(lease)
    else this.#tellGap()
  }

  #tell(lease: LeaseRecord): void {
    for (const { on, prefix } of this.#watchers)
      if (lease.resource.startsWith(prefix)) attempt(() => on({ type: 'change', lease }))
  }

  #tellGap(): void {
    for (const { on, promised } of this.#watchers) if (promised) attempt(() => on({ type: 'gap' }))
  }
}

/** A lease, or only its resource when the rest was too long to be told. */
function parse(payload: string): LeaseRecord | undefined {
  try {
    const lease = JSON.parse(payload)
    return typeof lease?.resource === 'string' ? lease : undefined
  } catch {
    return undefined
  }
}

function attempt(listener: () => void): void {
  try {
    listener()
  } catch {
    // A listener that throws harms nobody else.
  }
}

function unheard(deaf: boolean): LeaseError {
  return deaf
    ? new LeaseError(
        'store-failed',
        'postgres: notifications do not arrive. A pooler between shares connections: pass a direct one by the option listen',
      )
    : new LeaseError('store-unavailable', 'postgres: the connection for notifications could not be opened')
}
