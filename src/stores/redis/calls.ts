import type { RedisDatabase } from '../../clients/redis.ts'
import { isReply, redisError } from '../../clients/redis-errors.ts'
import type { CallOptions, LeaseError } from '../../core/index.ts'
import { abortError, LIMIT_MS, silenceError } from './limit.ts'
import { type Scripts, scriptsFor } from './scripts.ts'

/**
 * More are sent in several calls: so the server works on one while we read the answers to the one before, and none
 * keeps it to itself for long.
 */
const MAX_BATCH = 32
const LOOK_EVERY_MS = 50

/** What the script answered to one operation. */
export interface Reply {
  /** The server's clock then, in microseconds; not told with a list. */
  readonly now: number
  readonly value: string | readonly unknown[]
}

interface Operation {
  readonly shard: number
  readonly keys: string[]
  readonly args: string[]
  readonly call: CallOptions | undefined
  /** The caller waits no longer. */
  gone?: boolean
  resolve(reply: Reply): void
  reject(error: LeaseError): void
}

type Batch = readonly Operation[]

/**
 * Sends operations to the script: a lone one at once, those that come while others are under way together with
 * their turn of the event loop, which costs a busy process about half of what single calls do. In a cluster only
 * those of one shard travel together, since a script may use one slot only.
 */
export class Calls {
  readonly #redis: RedisDatabase
  readonly #scripts: Scripts
  readonly #shas = new Map<string, string>()
  #byShard: boolean
  #next: Operation[] = []
  /** When each batch that is under way was sent, the oldest first. */
  readonly #sent = new Map<Batch, number>()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(redis: RedisDatabase, prefix: string) {
    this.#redis = redis
    this.#scripts = scriptsFor(prefix)
    this.#byShard = redis.cluster
    for (const script of Object.values(this.#scripts)) void this.#learnSha(script)
  }

  call(shard: number, keys: string[], args: string[], call?: CallOptions): Promise<Reply> {
    return new Promise((resolve, reject) => this.#enqueue({ shard, keys, args, call, resolve, reject }))
  }

  #enqueue(operation: Operation): void {
    if (this.#sent.size === 0 && this.#next.length === 0) void this.#send([operation])
    else if (this.#next.push(operation) === 1) queueMicrotask(() => this.#flush())
  }

  #flush(): void {
    const operations = this.#next
    this.#next = []
    const groups = this.#byShard ? Map.groupBy(operations, ({ shard }) => shard).values() : [operations]
    for (const group of groups)
      for (let from = 0; from < group.length; from += MAX_BATCH)
        void this.#send(group.length > MAX_BATCH ? group.slice(from, from + MAX_BATCH) : group)
  }

  async #send(batch: Batch): Promise<void> {
    const { script, keys, args } = this.#request(batch)
    const sha = this.#shas.get(script)
    const sent = performance.now()
    try {
      const reply = sha ? this.#redis.evalSha(sha, keys, args) : this.#redis.eval(script, keys, args)
      // Not before the request has left: the server is at work meanwhile.
      this.#sent.set(batch, sent)
      if (!this.#timer) this.#startLooking()
      deliver(batch, await reply)
    } catch (cause) {
      if (isReply(cause, 'NOSCRIPT')) await this.#bring(this.#stillWanted(batch))
      else this.#fail(batch, cause)
    }
    this.#sent.delete(batch)
  }

  /** Sends a script that the server does not know. */
  async #bring(batch: Batch): Promise<void> {
    if (batch.length === 0) return
    const { script, keys, args } = this.#request(batch)
    try {
      deliver(batch, await this.#redis.eval(script, keys, args))
    } catch (cause) {
      this.#fail(batch, cause)
    }
  }

  #request(batch: Batch) {
    const only = batch.length === 1 ? batch[0] : undefined
    return {
      script: only ? this.#scripts.one : this.#scripts.many,
      keys: only?.keys ?? batch.flatMap((operation) => operation.keys),
      args: only?.args ?? batch.flatMap((operation) => operation.args),
    }
  }

  /** What is sent again. Who is gone has released meanwhile, and must not be granted after that. */
  #stillWanted(batch: Batch): Batch {
    this.#look(batch, 0)
    return batch.filter(({ gone, args }) => !gone || args[0] !== 'acquire')
  }

  #fail(batch: Batch, cause: unknown): void {
    const mixed = batch.some(({ shard }) => shard !== batch[0]?.shard)
    if (mixed && isReply(cause, 'CROSSSLOT')) {
      // A plain client before a cluster, or a proxy of one. Nothing was done.
      this.#byShard = true
      for (const operation of this.#stillWanted(batch)) this.#enqueue(operation)
    } else {
      const error = redisError(cause)
      for (const { reject } of batch) reject(error)
    }
  }

  /** One timer looks after all calls: a timer and a listener for each would cost as much as the call itself. */
  #startLooking(): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      for (const [batch, sent] of this.#sent) this.#look(batch, performance.now() - sent)
      if (this.#sent.size > 0) this.#startLooking()
    }, LOOK_EVERY_MS)
    this.#timer.unref()
  }

  #look(batch: Batch, ms: number): void {
    for (const operation of batch) {
      const signal = operation.call?.signal
      if (signal?.aborted) operation.reject(abortError(signal))
      operation.gone ||= signal?.aborted || ms >= LIMIT_MS
    }
    if (ms < LIMIT_MS) return
    this.#sent.delete(batch)
    this.#fail(batch, silenceError())
  }

  async #learnSha(script: string): Promise<void> {
    const digest = await crypto.subtle.digest('SHA-1', new TextEncoder().encode(script))
    const bytes = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0'))
    this.#shas.set(script, bytes.join(''))
  }
}

function deliver(batch: Batch, reply: unknown): void {
  const replies = batch.length === 1 ? [reply] : (reply as unknown[])
  for (const [at, operation] of batch.entries()) answer(operation, replies[at])
}

function answer({ resolve, reject }: Operation, value: unknown): void {
  const text = String(value)
  if (Array.isArray(value)) resolve({ now: 0, value })
  else if (text.startsWith('error ')) reject(redisError(new Error(`ERR ${text.slice(6)}`)))
  // A text comes after the clock and a space.
  else resolve({ now: Number(text.slice(0, 16)), value: text.slice(17) })
}
