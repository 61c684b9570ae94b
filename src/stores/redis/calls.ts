import type { LeaseError } from '../../core/index.ts'
import type { RedisDialect } from './client.ts'
import { isReply, storeError } from './errors.ts'
import { abortError, LIMIT_MS, silenceError } from './limit.ts'
import { MANY, ONE } from './scripts.ts'

/** So that no batch keeps the server to itself for long. */
const MAX_BATCH = 256

/** What the script answered to one operation, a text or a list, and the server's clock then, in microseconds. */
export interface Reply {
  readonly now: number
  readonly value: unknown
}

interface Operation {
  readonly shard: number
  readonly keys: readonly string[]
  readonly args: readonly string[]
  resolve(reply: Reply): void
  reject(error: LeaseError): void
}

type Batch = Operation[]

/**
 * Sends operations to the script. Those of one turn of the event loop travel together, which costs a busy process
 * about half of what single calls do; in a cluster those of one shard, since a script may use one slot only.
 */
export class Calls {
  readonly #redis: RedisDialect
  readonly #prefix: string
  #byShard: boolean
  readonly #shas = new Map<string, string>()
  #next = new Map<number, Batch>()
  /** When each batch that is under way was sent, the oldest first. */
  readonly #sent = new Map<Batch, number>()
  #alarm: ReturnType<typeof setTimeout> | undefined

  constructor(redis: RedisDialect, prefix: string) {
    this.#redis = redis
    this.#prefix = prefix
    this.#byShard = redis.cluster
    for (const script of [ONE, MANY]) void this.#learnSha(script)
  }

  call(
    shard: number,
    keys: readonly string[],
    args: readonly string[],
    signal?: AbortSignal,
  ): Promise<Reply> {
    return new Promise((resolve, reject) => {
      if (!signal) return this.#enqueue({ shard, keys, args, resolve, reject })
      if (signal.aborted) return reject(abortError(signal))
      const onAbort = () => reject(abortError(signal))
      const unhook = () => signal.removeEventListener('abort', onAbort)
      signal.addEventListener('abort', onAbort)
      this.#enqueue({
        shard,
        keys,
        args,
        resolve(reply) {
          unhook()
          resolve(reply)
        },
        reject(error) {
          unhook()
          reject(error)
        },
      })
    })
  }

  #enqueue(operation: Operation): void {
    if (this.#next.size === 0) queueMicrotask(() => this.#flush())
    const group = this.#byShard ? operation.shard : 0
    const batch = this.#next.get(group)
    if (batch) batch.push(operation)
    else this.#next.set(group, [operation])
  }

  #flush(): void {
    const batches = this.#next.values()
    this.#next = new Map()
    for (const batch of batches)
      for (let rest = batch; rest.length > 0; ) void this.#send(rest.splice(0, MAX_BATCH))
  }

  async #send(batch: Batch): Promise<void> {
    this.#sent.set(batch, performance.now())
    if (!this.#alarm) this.#setAlarm(LIMIT_MS)
    try {
      const [clock, ...replies] = inParts(await this.#run(batch))
      const now = Number(clock)
      for (const [at, operation] of batch.entries()) answer(operation, now, replies[at])
    } catch (cause) {
      this.#fail(batch, cause)
    } finally {
      this.#sent.delete(batch)
    }
  }

  #fail(batch: Batch, cause: unknown): void {
    if (isReply(cause, 'CROSSSLOT') && !this.#byShard) {
      // A plain client before a cluster, or a proxy of one. Nothing was done.
      this.#byShard = true
      for (const operation of batch) this.#enqueue(operation)
    } else {
      const error = storeError(cause)
      for (const { reject } of batch) reject(error)
    }
  }

  async #run(batch: Batch): Promise<unknown> {
    const keys: string[] = []
    const args = [this.#prefix]
    for (const operation of batch) {
      for (const key of operation.keys) keys.push(key)
      for (const arg of operation.args) args.push(arg)
    }
    const script = batch.length === 1 ? ONE : MANY
    const sha = this.#shas.get(script)
    if (sha) {
      try {
        return await this.#redis.evalSha(sha, keys, args)
      } catch (cause) {
        if (!isReply(cause, 'NOSCRIPT')) throw cause
      }
    }
    return this.#redis.eval(script, keys, args)
  }

  /** One timer for all calls, since one for each would cost as much as the rest of the call. */
  #setAlarm(ms: number): void {
    this.#alarm = setTimeout(() => {
      this.#alarm = undefined
      const overdue = performance.now() - LIMIT_MS
      for (const [batch, sent] of this.#sent) {
        if (sent > overdue) return this.#setAlarm(sent - overdue)
        this.#sent.delete(batch)
        this.#fail(batch, silenceError())
      }
    }, ms)
    this.#alarm.unref()
  }

  async #learnSha(script: string): Promise<void> {
    const digest = await crypto.subtle.digest('SHA-1', new TextEncoder().encode(script))
    const bytes = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0'))
    this.#shas.set(script, bytes.join(''))
  }
}

/** The clock and the answers. A lone text comes in one piece with the clock, since most calls are of that kind. */
function inParts(reply: unknown): unknown[] {
  if (Array.isArray(reply)) return reply
  const text = String(reply)
  const space = text.indexOf(' ')
  return [text.slice(0, space), text.slice(space + 1)]
}

function answer({ resolve, reject }: Operation, now: number, value: unknown): void {
  if (typeof value === 'string' && value.startsWith('error '))
    reject(storeError(new Error(`ERR ${value.slice('error '.length)}`)))
  else resolve({ now, value })
}
