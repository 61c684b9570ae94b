import type { LeaseError } from '../../core/index.ts'
import type { RedisDialect } from './client.ts'
import { isReply, storeError } from './errors.ts'
import { abortError, LIMIT_MS, silenceError } from './limit.ts'
import { MANY, ONE } from './scripts.ts'

/** So that no batch keeps the server to itself for long. */
const MAX_BATCH = 256

/** What the script answered to one operation, and the server's clock then, in microseconds. */
export interface Reply {
  readonly now: number
  readonly value: string | readonly unknown[]
}

interface Operation {
  readonly shard: number
  readonly keys: string[]
  readonly args: string[]
  resolve(reply: Reply): void
  reject(error: LeaseError): void
}

type Batch = readonly Operation[]

/**
 * Sends operations to the script. Those of one turn of the event loop travel together, which costs a busy process
 * about half of what single calls do; in a cluster those of one shard, since a script may use one slot only.
 */
export class Calls {
  readonly #redis: RedisDialect
  readonly #prefix: string
  readonly #shas = new Map<string, string>()
  #byShard: boolean
  #next: Operation[] = []
  /** When each batch that is under way was sent, the oldest first. */
  readonly #sent = new Map<Batch, number>()
  #alarm: ReturnType<typeof setTimeout> | undefined

  constructor(redis: RedisDialect, prefix: string) {
    this.#redis = redis
    this.#prefix = prefix
    this.#byShard = redis.cluster
    for (const script of [ONE, MANY]) void this.#learnSha(script)
  }

  call(shard: number, keys: string[], args: string[], signal?: AbortSignal): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const operation = { shard, keys, args, resolve, reject }
      if (!signal) this.#enqueue(operation)
      else if (signal.aborted) reject(abortError(signal))
      else this.#enqueue(endWith(signal, operation))
    })
  }

  #enqueue(operation: Operation): void {
    if (this.#next.push(operation) === 1) queueMicrotask(() => this.#flush())
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
    const script = batch.length === 1 ? ONE : MANY
    const sha = this.#shas.get(script)
    const keys: string[] = []
    const args = [this.#prefix]
    for (const operation of batch) {
      keys.push(...operation.keys)
      args.push(...operation.args)
    }
    this.#sent.set(batch, performance.now())
    if (!this.#alarm) this.#setAlarm(LIMIT_MS)
    try {
      deliver(
        batch,
        await (sha ? this.#redis.evalSha(sha, keys, args) : this.#redis.eval(script, keys, args)),
      )
    } catch (cause) {
      if (isReply(cause, 'NOSCRIPT')) await this.#bring(script, keys, args, batch)
      else this.#fail(batch, cause)
    }
    this.#sent.delete(batch)
  }

  async #bring(script: string, keys: string[], args: string[], batch: Batch): Promise<void> {
    try {
      deliver(batch, await this.#redis.eval(script, keys, args))
    } catch (cause) {
      this.#fail(batch, cause)
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

function endWith(signal: AbortSignal, operation: Operation): Operation {
  const { resolve, reject } = operation
  const onAbort = () => reject(abortError(signal))
  const unhook = () => signal.removeEventListener('abort', onAbort)
  signal.addEventListener('abort', onAbort)
  return {
    ...operation,
    resolve(reply) {
      unhook()
      resolve(reply)
    },
    reject(error) {
      unhook()
      reject(error)
    },
  }
}

function deliver(batch: Batch, reply: unknown): void {
  if (Array.isArray(reply)) deliverEach(batch, reply)
  else deliverLone(batch, String(reply))
}

/** A lone text comes in one piece with the clock, since most calls are of that kind. */
function deliverLone(batch: Batch, text: string): void {
  batch[0]?.resolve({ now: Number(text.slice(0, 16)), value: text.slice(17) })
}

function deliverEach(batch: Batch, [clock, ...values]: readonly unknown[]): void {
  for (const [at, { resolve, reject }] of batch.entries()) {
    const value = Array.isArray(values[at]) ? values[at] : String(values[at])
    if (typeof value === 'string' && value.startsWith('error '))
      reject(storeError(new Error(`ERR ${value.slice('error '.length)}`)))
    else resolve({ now: Number(clock), value })
  }
}
