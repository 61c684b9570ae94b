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
 * What happened to a lease, whoever holds it. `kept`: it has ended, and the resource stays taken for its `remaining`
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
 */
export async function watch(
  tools: Tools,
  prefix: string,
  listener: (event: WatchEvent) => void,
  read: LookingStore['read'],
): Promise<LeaseWatch> {
  // What a listener throws must not come back.
  const channel = tools.createChannel<WatchEvent>()
  channel.subscribe(listener)
  return tools.manager.run((context, stop) => watchLeases(tools, context, stop, prefix, channel.emit, read))
}

async function watchLeases(
  { leases, answerWithin, refuse }: Tools,
  context: Context,
  stop: Stop,
  prefix: string,
  report: (event: WatchEvent) => void,
  read: LookingStore['read'],
): Promise<LeaseWatch> {
  const { clock, held, store, callTimeout } = context
  if (!store.watch || !store.supports.push)
    refuse('store', 'a LeaseStore with the looking half that pushes changes', store.kind)
  const live = new Map<string, Known>()
  const ended = new Set<string>()
  let isOpen = false
  let isStale = false
  let isFailing = false
  let checks = 0
  let cancel = () => {}

  const opening = (store as LookingStore).watch(
    (event) => {
      if (event.type === 'change') return observe(event.lease)
      isStale = true
      emit({ type: 'gap' })
    },
    { prefix },
  )
  // Nobody waits for it: the store may be silent, and its pushes are not heard any more.
  const end = () => void opening.then((source) => source[Symbol.asyncDispose]()).catch(() => {})
  try {
    await answerWithin(opening, callTimeout, context, '', stop)
    await check(true)
    stop.throwIfAborted()
  } catch (error) {
    end()
    throw error
  }
  const watch: LeaseWatch = {
    get live() {
      const now = clock.monotonic()
      return Array.from(live.values(), ({ lease, until }) => ({
        ...lease,
        remaining: lease.remaining && Math.max(0, until - now),
      }))
    },
    async close() {
      isOpen = false
      held.delete(watch)
      cancel()
      end()
    },
    [Symbol.asyncDispose]: () => watch.close(),
  }
  isOpen = true
  held.add(watch)
  checkLater()
  return watch

  function emit(event: WatchEvent): void {
    if (isOpen) report(event)
  }

  function checkLater(): void {
    cancel = clock.setTimer(async () => {
      const all = isStale || ++checks % CHECKS_PER_LIST === 0
      isStale = false
      try {
        await check(all)
        isFailing = false
      } catch (cause) {
        const error = cause as LeaseError
        isStale = true
        if (!isFailing) emit({ type: 'gap', error })
        isFailing = true
        // Of a store that was closed there is nothing more to report.
        if (error.code === 'closed') return
      }
      if (isOpen) checkLater()
    }, CHECK_WATCHED_EVERY_MS)
  }

  /** Reads the leases that are overdue, or lists all. */
  async function check(all: boolean): Promise<void> {
    const now = clock.monotonic()
    const believed = [...live].filter(([, { until }]) => all || until <= now)
    const names = new Set(believed.map(([, { lease }]) => lease.resource))
    if (!all && names.size === 0) return
    const found = all
      ? (await leases.list({ prefix, limit: Number.MAX_SAFE_INTEGER })).leases
      : await readInParts([...names])
    for (const lease of found) observe(lease)
    const keys = new Set(found.map(keyOf))
    for (const [key, known] of believed) {
      // A push that came meanwhile is newer than the answer.
      if (keys.has(key) || live.get(key) !== known) continue
      observe(endOf(known))
    }
  }

  async function readInParts(names: readonly string[]): Promise<LeaseRecord[]> {
    const found: LeaseRecord[] = []
    for (let from = 0; from < names.length; from += READ_WATCHED_AT_ONCE)
      found.push(...(await read(names.slice(from, from + READ_WATCHED_AT_ONCE))).flat())
    return found
  }

  /** Takes a lease as the store has it. Reports may come late, and more than once. */
  function observe(lease: LeaseRecord): void {
    const key = keyOf(lease)
    const { state } = lease
    const before = live.get(key)
    const known = before?.lease
    const isKept = state === 'kept' || known?.state === 'kept'
    // A lease ends, and may then keep the resource until it is freed.
    if (isKept && known?.state === 'held') observe(endOf(before as Known))
    const end = isKept ? `freed ${key}` : key
    if (ended.has(end)) return
    if (state === 'held' && isKept) return
    if (state === 'held' || state === 'kept') {
      const longer = (lease.expiresAt ?? 0) - (known?.expiresAt ?? 0)
      if (known && longer < 0 && !isKept) return
      live.set(key, { lease, until: clock.monotonic() + (lease.remaining ?? Infinity) })
      if (isKept) {
        if (known?.state !== 'kept') emit({ type: 'kept', lease })
      } else if (!known) emit({ type: 'granted', lease })
      else if (longer > 0) emit({ type: 'renewed', lease })
    } else {
      live.delete(key)
      if (ended.size >= ENDS_REMEMBERED) ended.clear()
      ended.add(end)
      emit({ type: isKept ? 'freed' : state, lease })
    }
  }

  /** The end of a lease that the store does not show any more. */
  function endOf({ lease, until }: Known): LeaseRecord {
    const isFreed = lease.state === 'kept' || until > clock.monotonic()
    return { ...lease, state: isFreed ? 'released' : 'expired', remaining: 0 }
  }
}

function keyOf({ resource, token }: LeaseRecord): string {
  return `${token} ${resource}`
}
