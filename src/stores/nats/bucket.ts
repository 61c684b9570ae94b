import { onAbort } from '../../base/abort.ts'
import { LeaseError } from '../../base/errors.ts'
import type { NatsConnection } from '../../clients/nats.ts'
import { isConflict, isMissingBucket } from '../../clients/nats-errors.ts'
import { ConnectionState } from './connection-state.ts'

export interface BucketOptions {
  readonly name: string
  readonly replicas: number
}

/** A value of the bucket as it was written at one revision. */
export interface Message {
  readonly key: string
  readonly text: string
  readonly revision: number
  /** By the server's clock, rounded down to milliseconds. */
  readonly createdMs: number
  /** The trace of a deletion, which only people make. */
  readonly isMarker: boolean
}

type Kvm = InstanceType<typeof import('@nats-io/kv')['Kvm']>
type JetStream = Kvm['js']
type PushConsumer = Awaited<ReturnType<JetStream['consumers']['getPushConsumer']>>
type ConsumerMessages = Awaited<ReturnType<PushConsumer['consume']>>

interface OpenBucket {
  readonly kv: Awaited<ReturnType<Kvm['create']>>
  readonly streams: Awaited<ReturnType<JetStream['jetstreamManager']>>['streams']
  readonly consumers: JetStream['consumers']
  readonly stream: string
}

/** A key-value bucket of JetStream. It is opened with the first request, and created if it is missing. */
export class Bucket {
  readonly connection: ConnectionState
  readonly #client: NatsConnection
  readonly #options: BucketOptions
  #opening: Promise<OpenBucket> | undefined

  constructor(client: NatsConnection, options: BucketOptions) {
    this.#client = client
    this.#options = options
    this.connection = new ConnectionState(client)
  }

  get(key: string): Promise<Message | null> {
    return this.#use(async ({ kv }) => {
      const entry = await kv.get(key)
      return (
        entry && {
          key,
          text: entry.string(),
          revision: entry.revision,
          createdMs: entry.created.getTime(),
          isMarker: entry.operation !== 'PUT',
        }
      )
    })
  }

  /** Resolves with the revision. */
  put(key: string, text: string): Promise<number> {
    return this.#use(({ kv }) => kv.put(key, text))
  }

  /** Resolves with the revision, or with `null` if the key is not at the expected one (`null`: has no value). */
  compareAndPut(key: string, text: string, expected: number | null): Promise<number | null> {
    return this.#use(async ({ kv }) => {
      try {
        return await (expected === null ? kv.create(key, text) : kv.update(key, text, expected))
      } catch (error) {
        if (isConflict(error)) return null
        throw error
      }
    })
  }

  /** Removes all values of the key up to this revision, without a marker. A later value stays. */
  async purge(key: string, revision: number): Promise<void> {
    const filter = this.#subjectOf(key)
    await this.#use(({ streams, stream }) => streams.purge(stream, { filter, seq: revision + 1 }))
  }

  /**
   * Resolves when the server delivers. The messages end when `stop` aborts. They must be iterated over, because the
   * consumer is deleted at their end. (`kv.watch` leaves its consumer on the server for five minutes.)
   */
  async deliver(
    from: 'new' | 'last_per_subject',
    keys: string,
    stop: AbortSignal,
    withoutTexts = false,
  ): Promise<AsyncIterable<Message>> {
    const options = {
      filter_subject: this.#subjectOf(keys),
      deliver_policy: from,
      headers_only: withoutTexts,
    }
    const consumer = await this.#use(({ consumers, stream }) => consumers.getPushConsumer(stream, options))
    const messages = await consumer.consume()
    return this.#delivered(consumer, messages, stop)
  }

  close(): void {
    this.connection.close()
  }

  async *#delivered(consumer: PushConsumer, messages: ConsumerMessages, stop: AbortSignal) {
    const prefixLength = this.#subjectOf('').length
    const unlisten = onAbort(stop, () => messages.stop())
    try {
      for await (const message of messages)
        yield {
          key: message.subject.slice(prefixLength),
          text: message.string(),
          revision: message.seq,
          createdMs: millisecondsOf(message.timestampNanos),
          isMarker: message.headers?.has('KV-Operation') ?? false,
        }
    } finally {
      unlisten()
      messages.stop()
      // If this fails, the server deletes it soon, because nobody listens to it.
      await this.connection.send(() => consumer.delete()).catch(() => {})
    }
  }

  #subjectOf(keys: string): string {
    return `$KV.${this.#options.name}.${keys}`
  }

  #use<T>(request: (bucket: OpenBucket) => Promise<T>): Promise<T> {
    return this.connection.send(async () => {
      try {
        return await request(await this.#open())
      } catch (error) {
        // The next request opens it again, and creates it if necessary.
        if (isMissingBucket(error)) this.#opening = undefined
        throw error
      }
    })
  }

  #open(): Promise<OpenBucket> {
    this.#opening ??= this.#openBucket().catch((error) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  async #openBucket(): Promise<OpenBucket> {
    const { name, replicas } = this.#options
    const { Kvm } = await loadKv()
    const manager = new Kvm(this.#client as ConstructorParameters<typeof Kvm>[0])
    // A direct read may be answered by a replica that lags behind.
    const kv = await manager.create(name, { replicas, history: 1, allow_direct: false })
    const { streamInfo, ttl } = await kv.status()
    if (ttl > 0)
      throw new LeaseError(
        'store-failed',
        `NATS: the bucket ${name} has a TTL of its own, which would delete leases; use a bucket without a TTL`,
      )
    const { streams } = await manager.js.jetstreamManager(false)
    return { kv, streams, consumers: manager.js.consumers, stream: streamInfo.config.name }
  }
}

/** `message.time` is a whole millisecond late if the last nanoseconds are lost in a floating point number. */
export function millisecondsOf(nanos: bigint): number {
  return Number(nanos / 1_000_000n)
}

async function loadKv() {
  try {
    return await import('@nats-io/kv')
  } catch (cause) {
    throw new LeaseError('store-failed', 'natsStore needs the package @nats-io/kv: npm install @nats-io/kv', {
      cause,
    })
  }
}
