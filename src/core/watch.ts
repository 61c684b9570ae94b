/**
 * Loaded when somebody watches. It imports nothing at run time, so a bundler can leave it out of what everybody loads.
 */
import type { Stop } from '../base/abort.ts'
import type { answerWithin } from '../base/answer-within.ts'
import type { refuse } from '../base/arguments.ts'
import type { LeaseError } from '../base/errors.ts'
import type { LeaseRecord } from '../base/records.ts'
import type { Context } from './context.ts'
import type { Leases } from './create-leases.ts'
import type { LookingStore } from './store.ts'

/** What happened to a lease, whoever holds it. */
export type WatchEvent =
  | {
      readonly type: 'granted' | 'renewed' | 'released' | 'expired' | 'taken-over'
      readonly lease: LeaseRecord
    }
  /** Something may have been missed. The leases are listed again, and what that shows is reported. */
  | { readonly type: 'gap'; readonly error?: LeaseError; readonly lease?: undefined }

export interface LeaseWatch extends AsyncDisposable {
  /** The leases that are live now, as far as is known, with the time that they have left. In no order. */
  readonly live: readonly LeaseRecord[]
  /** Ends the watch. */
  close(): Promise<void>
}

/** A store need not announce an expiry that nobody has asked it about, so leases that are overdue are read again. */
const CHECK_EVERY_MS = 1000
/** Every so many checks all leases are listed, in case a push was lost. */
const CHECKS_PER_LIST = 60
const READ_AT_ONCE = 200
/** So many ends are remembered, so that a late message or answer does not report them again. */
const ENDS_REMEMBERED = 10_000

/** What the watch has from the core. Like `read`, `list` rejects with a `LeaseError`. */
export interface WatchTools extends Pick<Leases, 'list'>, Pick<LookingStore, 'read'> {
  /** Why the manager does not want the watch any more. */
  readonly stop: Stop
  /** What a listener throws must not come back. */
  emit(event: WatchEvent): void
  readonly answerWithin: typeof answerWithin
  readonly refuse: typeof refuse
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
export async function watchLeases(
  context: Context,
  { prefix = '' }: { readonly prefix?: string },
  { stop, read, list, ...tools }: WatchTools,
): Promise<LeaseWatch> {
  const { clock, held, store, callTimeout } = context
  if (!store.watch || !store.supports.push)
    tools.refuse('store', 'a LeaseStore with the looking half that pushes changes', store.kind)
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
    await tools.answerWithin(opening, callTimeout, context, '', stop)
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
    if (isOpen) tools.emit(event)
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
    }, CHECK_EVERY_MS)
  }

  /** Reads the leases that are overdue, or lists all. */
  async function check(all: boolean): Promise<void> {
    const now = clock.monotonic()
    const believed = [...live].filter(([, { until }]) => all || until <= now)
    const names = new Set(believed.map(([, { lease }]) => lease.resource))
    if (!all && names.size === 0) return
    const found = all ? await list({ prefix, limit: Number.MAX_SAFE_INTEGER }) : await readInParts([...names])
    for (const lease of found) observe(lease)
    const keys = new Set(found.map(keyOf))
    for (const [key, known] of believed) {
      // A push that came meanwhile is newer than the answer.
      if (keys.has(key) || live.get(key) !== known) continue
      const state = known.until > clock.monotonic() ? 'released' : 'expired'
      observe({ ...known.lease, state, remaining: 0 })
    }
  }

  async function readInParts(names: readonly string[]): Promise<LeaseRecord[]> {
    const found: LeaseRecord[] = []
    for (let from = 0; from < names.length; from += READ_AT_ONCE)
      found.push(...(await read(names.slice(from, from + READ_AT_ONCE))).flat())
    return found
  }

  /** Takes a lease as the store has it. Reports may come late, and more than once. */
  function observe(lease: LeaseRecord): void {
    const key = keyOf(lease)
    if (ended.has(key)) return
    if (lease.state === 'held') {
      const known = live.get(key)?.lease
      const longer = (lease.expiresAt ?? 0) - (known?.expiresAt ?? 0)
      if (known && longer < 0) return
      live.set(key, { lease, until: clock.monotonic() + (lease.remaining ?? Infinity) })
      if (!known) emit({ type: 'granted', lease })
      else if (longer > 0) emit({ type: 'renewed', lease })
    } else {
      live.delete(key)
      if (ended.size >= ENDS_REMEMBERED) ended.clear()
      ended.add(key)
      emit({ type: lease.state, lease })
    }
  }
}

function keyOf({ resource, token }: LeaseRecord): string {
  return `${token} ${resource}`
}
