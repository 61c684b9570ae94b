import type { Stop } from '../base/abort.ts'
import type { LeaseError } from '../base/errors.ts'
import type { LeaseRecord } from '../base/records.ts'
import type { Context } from './context.ts'
import type { Tools } from './rare-methods.ts'
import {
  CHECK_WATCHED_EVERY_MS,
  CHECKS_PER_LIST,
  ENDS_REMEMBERED,
  READ_WATCHED_AT_ONCE,
} from './rare-options.ts'
import type { LookingStore } from './store.ts'

/**
 * What happened to a lease, no matter who holds it. `kept`: it has ended, and the resource stays taken for its `remaining`
 * time. `freed`: the resource is taken no longer.
 */
export type WatchEvent =
  | {
      readonly type: 'granted' | 'renewed' | 'released' | 'expired' | 'taken-over' | 'kept' | 'freed'
      readonly lease: LeaseRecord
    }
  /** Something may have been missed. The leases are listed again, and what that shows is reported. */
  | { readonly type: 'gap'; readonly error?: LeaseError; readonly lease?: undefined }

export interface LeaseWatch extends AsyncDisposable {
  /**
   * The leases that are live now, and those of state `kept`, as far as is known, with the time that they have left. In
   * no order.
   */
  readonly live: readonly LeaseRecord[]
  /** Ends the watch. */
  close(): Promise<void>
}

interface Known {
  readonly lease: LeaseRecord
  /** When it ends unless it is renewed, by the monotonic clock. */
  readonly until: number
}

/**
 * Reports each grant, renewal and end once, from the pushes of the store and from reading again what they may have
 * missed. What happens before it resolves is not reported.
 *
 * Not `server/lease-feed.ts`, which also follows stores that push nothing, and the calls of its own node: a watch is loaded
 * in pages, follows one prefix, and needs a store that pushes.
 */
export async function watch(
  tools: Tools,
  prefix: string,
  listener: (event: WatchEvent) => void,
  read: LookingStore['read'],
): Promise<LeaseWatch> {
  // What a listener throws must not come back.
  const emitter = tools.createEmitter<WatchEvent>()
  emitter.subscribe(listener)
  return tools.manager.run(async (context, stop) => {
    const { watch, supports, kind } = context.store
    if (!watch || !supports.push)
      tools.refuse('store', 'a LeaseStore with the looking half that pushes changes', kind)
    const watching = new Watching({ tools, context, prefix, report: emitter.emit, read })
    await watching.open(stop)
    return watching
  })
}

interface WatchingOptions {
  readonly tools: Tools
  readonly context: Context
  readonly prefix: string
  readonly report: (event: WatchEvent) => void
  readonly read: LookingStore['read']
}

class Watching implements LeaseWatch {
  readonly #options: WatchingOptions
  readonly #live = new Map<string, Known>()
  readonly #ended = new Set<string>()
  #opening: Promise<AsyncDisposable> | undefined
  #isOpen = false
  #isStale = false
  #isFailing = false
  #checks = 0
  #cancel = () => {}

  constructor(options: WatchingOptions) {
    this.#options = options
  }

  async open(stop: Stop): Promise<void> {
    const { tools, context, prefix } = this.#options
    const { store, callTimeout, held } = context
    this.#opening = (store as LookingStore).watch(
      (event) => {
        if (event.type === 'change') return this.#observe(event.lease)
        this.#isStale = true
        this.#emit({ type: 'gap' })
      },
      { prefix },
    )
    try {
      await tools.answerWithin(this.#opening, callTimeout, context, '', stop)
      await this.#check(true)
      stop.throwIfAborted()
    } catch (error) {
      this.#end()
      throw error
    }
    this.#isOpen = true
    held.add(this)
    this.#checkLater()
  }

  get live(): readonly LeaseRecord[] {
    const now = this.#now()
    return Array.from(this.#live.values(), ({ lease, until }) => ({
      ...lease,
      remaining: lease.remaining && Math.max(0, until - now),
    }))
  }

  async close(): Promise<void> {
    this.#isOpen = false
    this.#options.context.held.delete(this)
    this.#cancel()
    this.#end()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Nobody waits for it: the store may be silent, and its pushes are not heard any more. */
  #end(): void {
    this.#opening?.then((source) => source[Symbol.asyncDispose]()).catch(() => {})
  }

  #now(): number {
    return this.#options.context.clock.monotonic()
  }

  #emit(event: WatchEvent): void {
    if (this.#isOpen) this.#options.report(event)
  }

  #checkLater(): void {
    this.#cancel = this.#options.context.clock.setTimer(async () => {
      const all = this.#isStale || ++this.#checks % CHECKS_PER_LIST === 0
      this.#isStale = false
      try {
        await this.#check(all)
        this.#isFailing = false
      } catch (cause) {
        const error = cause as LeaseError
        this.#isStale = true
        if (!this.#isFailing) this.#emit({ type: 'gap', error })
        this.#isFailing = true
        // Of a store that was closed there is nothing more to report.
        if (error.code === 'closed') return
      }
      if (this.#isOpen) this.#checkLater()
    }, CHECK_WATCHED_EVERY_MS)
  }

  /** Reads the leases that are overdue, or lists all. */
  async #check(all: boolean): Promise<void> {
    const { tools, prefix } = this.#options
    const now = this.#now()
    const believed = [...this.#live].filter(([, { until }]) => all || until <= now)
    const names = new Set(believed.map(([, { lease }]) => lease.resource))
    if (!all && names.size === 0) return
    const found = all
      ? (await tools.leases.list({ prefix, limit: Number.MAX_SAFE_INTEGER })).leases
      : await this.#readInParts([...names])
    for (const lease of found) this.#observe(lease)
    const keys = new Set(found.map(keyOf))
    for (const [key, known] of believed) {
      // A push that came meanwhile is newer than the answer.
      if (keys.has(key) || this.#live.get(key) !== known) continue
      this.#observe(this.#endOf(known))
    }
  }

  async #readInParts(names: readonly string[]): Promise<LeaseRecord[]> {
    const found: LeaseRecord[] = []
    for (let from = 0; from < names.length; from += READ_WATCHED_AT_ONCE)
      found.push(...(await this.#options.read(names.slice(from, from + READ_WATCHED_AT_ONCE))).flat())
    return found
  }

  /** Takes a lease as the store has it. Reports may come late, and more than once. */
  #observe(lease: LeaseRecord): void {
    const key = keyOf(lease)
    const { state } = lease
    const before = this.#live.get(key)
    const known = before?.lease
    const isKept = state === 'kept' || known?.state === 'kept'
    // A lease ends, and may then keep the resource until it is freed.
    if (isKept && known?.state === 'held') this.#observe(this.#endOf(before as Known))
    const end = isKept ? `freed ${key}` : key
    if (this.#ended.has(end)) return
    if (state === 'held' && isKept) return
    if (state === 'held' || state === 'kept') {
      const longer = (lease.expiresAt ?? 0) - (known?.expiresAt ?? 0)
      if (known && longer < 0 && !isKept) return
      this.#live.set(key, { lease, until: this.#now() + (lease.remaining ?? Infinity) })
      if (isKept) {
        if (known?.state !== 'kept') this.#emit({ type: 'kept', lease })
      } else if (!known) this.#emit({ type: 'granted', lease })
      else if (longer > 0) this.#emit({ type: 'renewed', lease })
    } else {
      this.#live.delete(key)
      if (this.#ended.size >= ENDS_REMEMBERED) this.#ended.clear()
      this.#ended.add(end)
      this.#emit({ type: isKept ? 'freed' : state, lease })
    }
  }

  /** The end of a lease that the store does not show any more. */
  #endOf({ lease, until }: Known): LeaseRecord {
    const isFreed = lease.state === 'kept' || until > this.#now()
    return { ...lease, state: isFreed ? 'released' : 'expired', remaining: 0 }
  }
}

function keyOf({ resource, token }: LeaseRecord): string {
  return `${token} ${resource}`
}
