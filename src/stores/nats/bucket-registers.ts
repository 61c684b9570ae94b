import { natsError } from '../../clients/nats-errors.ts'
import { LeaseError } from '../../core/index.ts'
import type { Entry, Feed, Registers, Written } from '../registers/port.ts'
import type { Bucket, Message } from './bucket.ts'
import { CLOCK, EVERY_KEY, EVERY_LEASE, keyOf, nameOf } from './key.ts'

/**
 * A bucket as registers: its revisions for compare-and-set, the timestamps of its messages for time. The server
 * has no clock that can be asked, so a key is written, and its timestamp read.
 */
export class BucketRegisters implements Registers {
  readonly #bucket: Bucket

  constructor(bucket: Bucket) {
    this.#bucket = bucket
  }

  async read(names: readonly string[]) {
    const messages = await Promise.all(names.map((name) => this.#bucket.get(keyOf(name))))
    return { entries: messages.map((message) => message && entryOf(message)), now: () => this.#now() }
  }

  async write(name: string, text: string, previous: Entry | null): Promise<Written<Entry> | null> {
    const key = keyOf(name)
    const order = await this.#bucket.putOver(key, text, previous?.order ?? null)
    if (order === null) return null
    const latest = await this.#bucket.get(key)
    if (!latest || latest.revision < order) throw unseen(key)
    return { entry: { name, text, order, micros: microsOf(latest) }, overtaken: latest.revision > order }
  }

  /** Not by deleting the key, which would leave a marker for ever. */
  forget({ name, order }: Entry): Promise<void> {
    return this.#bucket.purge(keyOf(name), order)
  }

  async list({ prefix, after }: { prefix: string; after: string }, stop: AbortSignal) {
    const { entries, now } = await this.#readAll(stop)
    const listed = entries
      .filter(({ name }) => name.startsWith(prefix) && name > after)
      .sort((a, b) => (a.name < b.name ? -1 : 1))
    return { entries: listed, now }
  }

  async *due(_: number, stop: AbortSignal) {
    yield await this.#readAll(stop)
  }

  async watch(feed: Feed<Entry>, stop: AbortSignal): Promise<void> {
    const messages = await this.#bucket.deliver('new', EVERY_LEASE, stop)
    const follow = async () => {
      for await (const message of messages) {
        const entry = entryOf(message)
        const name = nameOf(message.key)
        if (entry) feed.changed(entry)
        else if (name !== null) feed.gone(name)
      }
    }
    // The client would find its consumer again, but only after missing two heartbeats of it, a minute later.
    Promise.race([follow(), this.#bucket.reconnection]).then(feed.ended, feed.ended)
  }

  explain(error: unknown): LeaseError {
    this.#bucket.forgetIfMissing(error)
    return natsError(error)
  }

  close(): void {
    this.#bucket.close()
  }

  async #now(): Promise<number> {
    await this.#bucket.put(CLOCK, '')
    const tick = await this.#bucket.get(CLOCK)
    if (!tick) throw unseen(CLOCK)
    return tick.createdMs
  }

  /**
   * All leases as they were when the clock was written. Its message comes after theirs and so shows that there are
   * no more; the server's count of those to come is wrong when some are written meanwhile.
   */
  async #readAll(stop: AbortSignal) {
    const end = await this.#bucket.put(CLOCK, '')
    const done = new AbortController()
    const until = AbortSignal.any([done.signal, stop, this.#bucket.disconnection])
    const latest = new Map<string, Message>()
    try {
      for await (const message of await this.#bucket.deliver('last_per_subject', EVERY_KEY, until)) {
        latest.set(message.key, message)
        if (message.revision < end) continue
        const entries = Array.from(latest.values(), entryOf).filter((entry) => entry !== null)
        return { entries, now: async () => message.createdMs }
      }
      throw unseen(CLOCK)
    } finally {
      done.abort()
    }
  }
}

/** `null` for a marker, and for the keys of others. */
function entryOf(message: Message): Entry | null {
  const name = nameOf(message.key)
  if (name === null || message.isMarker) return null
  return { name, text: message.text, order: message.revision, micros: microsOf(message) }
}

/** Rounded up: a lease must not seem to begin earlier than it did. */
function microsOf({ createdMs }: Message): number {
  return (createdMs + 1) * 1000
}

function unseen(key: string): LeaseError {
  return new LeaseError('store-unavailable', `NATS does not show what was written to ${key}`)
}
