import { isConflict, isMissingBucket } from '../../clients/nats-errors.ts'
import { LeaseError } from '../../core/index.ts'
import { Line, type NatsConnection } from './line.ts'

export interface BucketOptions {
  readonly name: string
  readonly replicas: number
}

/** A value of the bucket as it was written at one revision. */
export interface Message {
  readonly key: string
  readonly text: string
  readonly revision: number
  /** By the server's clock, cut to milliseconds. */
  readonly createdMs: number
  /** Left by a deletion, which only people do. */
  readonly isMarker: boolean
}

type Kvm = InstanceType<typeof import('@nats-io/kv')['Kvm']>
type JetStream = Kvm['js']

/** What is used of a message that JetStream delivers. */
interface Delivered {
  readonly subject: string
  readonly seq: number
  readonly time: Date
  readonly headers?: { has(name: string): boolean } | undefined
  string(): string
}

interface Opened {
  readonly kv: Awaited<ReturnType<Kvm['create']>>
  readonly streams: Awaited<ReturnType<JetStream['jetstreamManager']>>['streams']
  readonly consumers: JetStream['consumers']
  readonly stream: string
}

/** A bucket of JetStream, opened with the first request, and made when it is missing. */
export class Bucket {
  readonly #connection: NatsConnection
  readonly #options: BucketOptions
  readonly #line: Line
  #opened: Promise<Opened> | undefined

  constructor(connection: NatsConnection, options: BucketOptions) {
    this.#connection = connection
    this.#options = options
    this.#line = new Line(connection)
  }

  get disconnection(): AbortSignal {
    return this.#line.disconnection
  }

  get reconnection(): Promise<void> {
    return this.#line.reconnection
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

  /** Answers the revision. */
  put(key: string, text: string): Promise<number> {
    return this.#use(({ kv }) => kv.put(key, text))
  }

  /** Answers the revision, or `null` when the key is not at the expected one; that is `null` for no value. */
  putOver(key: string, text: string, expected: number | null): Promise<number | null> {
    return this.#use(async ({ kv }) => {
      try {
        return await (expected === null ? kv.create(key, text) : kv.update(key, text, expected))
      } catch (error) {
        if (isConflict(error)) return null
        throw error
      }
    })
  }

  /** Leaves nothing of the key up to this revision; a later one stays. */
  async purge(key: string, revision: number): Promise<void> {
    const filter = this.#subjectOf(key)
    await this.#use(({ streams, stream }) => streams.purge(stream, { filter, seq: revision + 1 }))
  }

  /** Not by `kv.watch`, which leaves its consumer to the server for five minutes. */
  async deliver(
    from: 'new' | 'last_per_subject',
    keys: string,
    stop: AbortSignal,
  ): Promise<AsyncIterable<Message>> {
    const options = { filter_subject: this.#subjectOf(keys), deliver_policy: from }
    const consumer = await this.#use(({ consumers, stream }) => consumers.getPushConsumer(stream, options))
    const messages = await consumer.consume()
    const end = () => {
      messages.stop()
      consumer.delete().catch(() => {})
    }
    stop.addEventListener('abort', end)
    if (stop.aborted) end()
    return delivered(messages, this.#subjectOf('').length)
  }

  /** After such an error it is opened anew, and made anew if need be. */
  forgetIfMissing(error: unknown): void {
    if (isMissingBucket(error)) this.#opened = undefined
  }

  close(): void {
    this.#line.close()
  }

  #subjectOf(keys: string): string {
    return `$KV.${this.#options.name}.${keys}`
  }

  async #use<T>(request: (bucket: Opened) => Promise<T>): Promise<T> {
    return this.#line.send(async () => request(await this.#open()))
  }

  #open(): Promise<Opened> {
    this.#opened ??= this.#openBucket().catch((error) => {
      this.#opened = undefined
      throw error
    })
    return this.#opened
  }

  async #openBucket(): Promise<Opened> {
    const { name, replicas } = this.#options
    const { Kvm } = await loadKv()
    const manager = new Kvm(this.#connection as ConstructorParameters<typeof Kvm>[0])
    // Direct reads may come from a replica that lags behind.
    const kv = await manager.create(name, { replicas, history: 1, allow_direct: false })
    const { streamInfo, ttl } = await kv.status()
    if (ttl > 0)
      throw new LeaseError(
        'store-failed',
        `the bucket ${name} has a TTL of its own, and would lose leases by it`,
      )
    const { streams } = await manager.js.jetstreamManager(false)
    return { kv, streams, consumers: manager.js.consumers, stream: streamInfo.config.name }
  }
}

async function* delivered(messages: AsyncIterable<Delivered>, prefixLength: number): AsyncGenerator<Message> {
  for await (const message of messages)
    yield {
      key: message.subject.slice(prefixLength),
      text: message.string(),
      revision: message.seq,
      createdMs: message.time.getTime(),
      isMarker: message.headers?.has('KV-Operation') ?? false,
    }
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
