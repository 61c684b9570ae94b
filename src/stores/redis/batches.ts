import type { Stop } from '../../base/abort.ts'
import type { RedisDatabase } from '../../clients/redis.ts'
import { isReply } from '../../clients/redis-errors.ts'
import { malformedAnswer } from '../../clients/store-error.ts'
import { MAX_BATCH } from './options.ts'
import { type Scripts, scriptsFor } from './scripts.ts'

/** One operation of the script. */
export interface Operation {
  readonly shard: number
  readonly keys: readonly string[]
  /** The name of the operation and its arguments. */
  readonly args: readonly string[]
}

/** What the script answered to one operation. */
export interface Reply {
  /** The server's clock when it answered, in microseconds; 0 with a list. */
  readonly now: number
  readonly value: string | readonly unknown[]
}

interface Pending extends Operation {
  /** Why the caller has gone, if it has. */
  readonly stop: Stop
  resolve(reply: Reply): void
  reject(error: unknown): void
}

type Batch = readonly Pending[]

/**
 * Sends operations to the server. A lone operation is sent at once. Operations that come while others are under way
 * are sent together at the end of their tick of the event loop, which costs a busy process about half as much as
 * single calls. In a cluster, a batch contains operations of one shard only, because a script may use one slot only.
 *
 * Not `clients/together.ts`: a lone operation must not wait for the end of its tick, and a batch that is sent again
 * drops the operations whose callers have gone.
 */
export class Batches {
  readonly #redis: RedisDatabase
  readonly #scripts: Scripts
  readonly #shas = new Map<string, string>()
  #byShard: boolean
  #waiting: Pending[] = []
  /** How many batches were sent and not answered. */
  #underWay = 0

  constructor(redis: RedisDatabase, prefix: string) {
    this.#redis = redis
    this.#scripts = scriptsFor(prefix)
    this.#byShard = redis.cluster
    for (const script of Object.values(this.#scripts)) void this.#computeSha(script)
  }

  /** Rejects with the error of the client. */
  run({ shard, keys, args }: Operation, stop: Stop): Promise<Reply> {
    return new Promise((resolve, reject) => this.#add({ shard, keys, args, stop, resolve, reject }))
  }

  /**
   * The answers to acquire requests that are granted together. One script decides about those of a slot: all of them
   * have answers, or none has.
   */
  async runTogether(operations: readonly Operation[], stop: Stop): Promise<Map<Operation, Reply>> {
    const groups = this.#byShard ? [...Map.groupBy(operations, ({ shard }) => shard).values()] : [operations]
    const answers = new Map<Operation, Reply>()
    try {
      await Promise.all(
        groups.map(async (group) => {
          const replies = await this.#evalTogether(group, stop)
          for (const [n, reply] of replies.entries()) answers.set(group[n] as Operation, parseReply(reply))
        }),
      )
      return answers
    } catch (error) {
      if (this.#byShard || !isReply(error, 'CROSSSLOT')) throw error
      this.#byShard = true
      stop.throwIfAborted()
      return this.runTogether(operations, stop)
    }
  }

  async #evalTogether(operations: readonly Operation[], stop: Stop): Promise<readonly unknown[]> {
    const { keys, args } = textsOf(operations)
    const { together } = this.#scripts
    const sha = this.#shas.get(together)
    const withScript = () => {
      stop.throwIfAborted()
      return this.#redis.eval(together, keys, args)
    }
    const asked = sha ? this.#redis.evalSha(sha, keys, args) : withScript()
    const replies = await asked.catch((error) => {
      if (isReply(error, 'NOSCRIPT')) return withScript()
      throw error
    })
    const isComplete =
      Array.isArray(replies) && (replies.length === 0 || replies.length === operations.length)
    if (!isComplete) throw malformedAnswer('Redis', replies)
    return replies
  }

  #add(operation: Pending): void {
    if (this.#underWay === 0 && this.#waiting.length === 0) void this.#send([operation])
    else if (this.#waiting.push(operation) === 1) queueMicrotask(() => this.#sendWaiting())
  }

  #sendWaiting(): void {
    const operations = this.#waiting
    this.#waiting = []
    const groups = this.#byShard ? Map.groupBy(operations, ({ shard }) => shard).values() : [operations]
    for (const group of groups)
      for (let from = 0; from < group.length; from += MAX_BATCH)
        void this.#send(group.length > MAX_BATCH ? group.slice(from, from + MAX_BATCH) : group)
  }

  async #send(batch: Batch): Promise<void> {
    const { script, keys, args } = this.#request(batch)
    const sha = this.#shas.get(script)
    this.#underWay++
    try {
      const reply = sha ? this.#redis.evalSha(sha, keys, args) : this.#redis.eval(script, keys, args)
      deliver(batch, await reply)
    } catch (error) {
      if (isReply(error, 'NOSCRIPT')) await this.#sendWithScript(dropAborted(batch))
      else this.#onFailed(batch, error)
    } finally {
      this.#underWay--
    }
  }

  /** The server does not know the script yet, or not any more. */
  async #sendWithScript(batch: Batch): Promise<void> {
    if (batch.length === 0) return
    const { script, keys, args } = this.#request(batch)
    try {
      deliver(batch, await this.#redis.eval(script, keys, args))
    } catch (error) {
      this.#onFailed(batch, error)
    }
  }

  #request(batch: Batch): { script: string; keys: string[]; args: string[] } {
    const script = batch.length === 1 ? this.#scripts.one : this.#scripts.many
    return { script, ...textsOf(batch) }
  }

  #onFailed(batch: Batch, error: unknown): void {
    const hasSeveralShards = batch.some(({ shard }) => shard !== batch[0]?.shard)
    if (hasSeveralShards && isReply(error, 'CROSSSLOT')) {
      // A plain client is connected to a cluster or to its proxy. The server has done nothing.
      this.#byShard = true
      for (const operation of dropAborted(batch)) this.#add(operation)
    } else for (const { reject } of batch) reject(error)
  }

  async #computeSha(script: string): Promise<void> {
    const digest = await crypto.subtle.digest('SHA-1', new TextEncoder().encode(script))
    const bytes = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0'))
    this.#shas.set(script, bytes.join(''))
  }
}

function textsOf(operations: readonly Operation[]): { keys: string[]; args: string[] } {
  const keys: string[] = []
  const args: string[] = []
  // `flatMap` takes several times as long.
  for (const operation of operations) {
    keys.push(...operation.keys)
    args.push(...operation.args)
  }
  return { keys, args }
}

/**
 * The operations that are to be sent again. A caller that has gone has already released its id, so its acquire must
 * not be granted after that. Other operations are repeated in any case: they take nothing.
 */
function dropAborted(batch: Batch): Batch {
  return batch.filter(({ stop, args, reject }) => {
    const isAcquire = args[0] === 'acquire' || args[0] === 'share'
    const isDropped = stop.reason !== undefined && isAcquire
    if (isDropped) reject(stop.reason)
    return !isDropped
  })
}

function deliver(batch: Batch, reply: unknown): void {
  const replies: unknown = batch.length === 1 ? [reply] : reply
  for (const [index, operation] of batch.entries())
    answer(operation, Array.isArray(replies) ? replies[index] : undefined)
}

function answer({ resolve, reject }: Pending, reply: unknown): void {
  try {
    resolve(parseReply(reply))
  } catch (error) {
    reject(error)
  }
}

/** A reply is a list, `error <message>`, or `<clock> <value>`. */
function parseReply(reply: unknown): Reply {
  if (Array.isArray(reply)) return { now: 0, value: reply }
  const text = String(reply)
  const space = text.indexOf(' ')
  const first = text.slice(0, space)
  const value = text.slice(space + 1)
  const now = Number(first)
  if (first === 'error') throw new Error(`ERR ${value}`)
  if (now > 0) return { now, value }
  throw malformedAnswer('Redis', reply)
}
