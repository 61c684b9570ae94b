import { LeaseError } from '../../base/errors.ts'
import { compareUtf8 } from '../../base/utf8-order.ts'
import { natsError } from '../../clients/nats-errors.ts'
import type {
  Reading,
  Register,
  RegisterListener,
  RegisterQuery,
  Registers,
  Written,
} from '../registers/index.ts'
import type { Bucket, Message } from './bucket.ts'
import { CLOCK, EVERY_KEY, EVERY_LEASE, keyOf, nameOf } from './names.ts'

interface BucketRegister extends Register {
  readonly revision: number
}

/**
 * The keys of a bucket as registers: their revisions to compare and set, the timestamps of their messages as times.
 * The server's clock cannot be read, so a key is written and its timestamp is read.
 */
export class BucketRegisters implements Registers<BucketRegister> {
  readonly #bucket: Bucket

  constructor(bucket: Bucket) {
    this.#bucket = bucket
  }

  async read(names: readonly string[]) {
    const messages = await Promise.all(names.map((name) => this.#bucket.get(keyOf(name))))
    const registers = messages.map((message) => message && registerOf(message))
    return { registers, now: () => this.#now() }
  }

  async write(
    name: string,
    text: string,
    previous: BucketRegister | null,
  ): Promise<Written<BucketRegister> | null> {
    const key = keyOf(name)
    const revision = await this.#bucket.compareAndPut(key, text, previous?.revision ?? null)
    if (revision === null) return null
    const latest = await this.#bucket.get(key)
    if (!latest || latest.revision < revision) throw notShown(key)
    const register = { name, text, revision, writtenMicros: microsOf(latest) }
    return { register, isOvertaken: latest.revision > revision }
  }

  /** By a purge, because the deletion of a key leaves a marker forever. */
  remove({ name, revision }: BucketRegister): Promise<void> {
    return this.#bucket.purge(keyOf(name), revision)
  }

  async list({ prefix, after }: RegisterQuery, stop: AbortSignal) {
    const { registers, now } = await this.#readAll(stop)
    const listed = registers
      .filter(({ name }) => name.startsWith(prefix) && compareUtf8(name, after) > 0)
      .sort((a, b) => compareUtf8(a.name, b.name))
    return { registers: listed, now }
  }

  async *due(_: number, stop: AbortSignal) {
    yield await this.#readAll(stop)
  }

  async watch(listener: RegisterListener<BucketRegister>, stop: AbortSignal): Promise<void> {
    // After a reconnection the client notices only after a minute, by missing heartbeats, that its consumer is gone.
    const end = AbortSignal.any([stop, this.#bucket.connection.restored])
    const messages = await this.#bucket.deliver('new', EVERY_LEASE, end)
    listener.opened()
    for await (const message of messages) {
      const register = registerOf(message)
      const name = nameOf(message.key)
      if (register) listener.changed(register)
      else if (name !== null) listener.removed(name)
    }
  }

  explain = natsError

  trouble(): Error | undefined {
    return this.#bucket.connection.trouble()
  }

  close(): void {
    this.#bucket.close()
  }

  async #now(): Promise<number> {
    await this.#bucket.put(CLOCK, '')
    const tick = await this.#bucket.get(CLOCK)
    if (!tick) throw notShown(CLOCK)
    return tick.createdMs
  }

  /**
   * All leases at the time when the clock was written. The message of the clock follows theirs, so it shows that there
   * are no more. (The server's own count of the messages to come is wrong if some are written meanwhile.)
   */
  async #readAll(stop: AbortSignal): Promise<Reading<BucketRegister>> {
    const last = await this.#bucket.put(CLOCK, '')
    const end = AbortSignal.any([stop, this.#bucket.connection.lost])
    const latest = new Map<string, Message>()
    for await (const message of await this.#bucket.deliver('last_per_subject', EVERY_KEY, end)) {
      latest.set(message.key, message)
      if (message.revision < last) continue
      const registers = Array.from(latest.values(), registerOf).filter((register) => register !== null)
      return { registers, now: async () => message.createdMs }
    }
    throw notShown(CLOCK)
  }
}

/** `null` for a marker, and for the key of another program. */
function registerOf(message: Message): BucketRegister | null {
  const name = nameOf(message.key)
  if (name === null || message.isMarker) return null
  return { name, text: message.text, revision: message.revision, writtenMicros: microsOf(message) }
}

/** The server's time is rounded down to milliseconds, but must be rounded up here. */
function microsOf({ createdMs }: Message): number {
  return (createdMs + 1) * 1000
}

function notShown(key: string): LeaseError {
  return new LeaseError('store-unavailable', `NATS: the latest value of ${key} cannot be read`)
}
