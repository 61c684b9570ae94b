import type { ChromeChange, ChromeStorageArea } from '../../sync/index.ts'
import type { Connection } from './context.ts'
import { browserCopy } from './wire.ts'

export interface StorageArea {
  from(context: Connection): Required<ChromeStorageArea>
  /** A copy of everything that is stored now. */
  items(): Record<string, unknown>
}

export interface StorageAreaOptions {
  readonly changed: (changes: Record<string, ChromeChange>) => void
  /** Throws if these items may not be stored. */
  readonly check: (items: ReadonlyMap<string, unknown>, changedKeys: readonly string[]) => void
  readonly openToContentScripts: boolean
  /** Firefox also reports keys that were set to the value they had. */
  readonly reportsUnchanged: boolean
}

export function createStorageArea(options: StorageAreaOptions): StorageArea {
  const { changed, check, openToContentScripts, reportsUnchanged } = options
  let stored = new Map<string, unknown>()
  const all = () => browserCopy(Object.fromEntries(stored)) as Record<string, unknown>

  function write(next: ReadonlyMap<string, unknown>, keys: readonly string[]): void {
    check(next, keys)
    const before = stored
    stored = new Map(next)
    const changes: Record<string, ChromeChange> = {}
    for (const key of keys) {
      const [oldValue, newValue] = [before.get(key), stored.get(key)]
      const equal = JSON.stringify(oldValue) === JSON.stringify(newValue)
      if (equal && !(reportsUnchanged && newValue !== undefined)) continue
      changes[key] = {
        ...(oldValue !== undefined && { oldValue }),
        ...(newValue !== undefined && { newValue }),
      }
    }
    if (Object.keys(changes).length > 0) changed(changes)
  }

  function call<T>(context: Connection, work: () => T): Promise<T> {
    if (context.kind !== 'content' || openToContentScripts) return context.call(work)
    return Promise.reject(new Error('Access to storage is not allowed from this context.'))
  }

  return {
    from: (context) => ({
      get: (keys) =>
        call(context, () => {
          const items = all()
          const wanted = typeof keys === 'string' ? [keys] : (keys ?? Object.keys(items))
          if (!Array.isArray(wanted)) return { ...wanted, ...picked(items, Object.keys(wanted)) }
          return picked(items, wanted)
        }),
      set(items) {
        // Copied when it is sent, not when it arrives.
        const copies = Object.entries(browserCopy(items) as Record<string, unknown>)
        const keys = copies.map(([key]) => key)
        return call(context, () => write(new Map([...stored, ...copies]), keys))
      },
      remove: (keys) =>
        call(context, () => {
          const removed = new Set(typeof keys === 'string' ? [keys] : keys)
          write(new Map([...stored].filter(([key]) => !removed.has(key))), [...removed])
        }),
      getKeys: () => call(context, () => [...stored.keys()]),
    }),
    items: all,
  }
}

function picked(items: Record<string, unknown>, keys: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(keys.filter((key) => key in items).map((key) => [key, items[key]]))
}

const bytesOf = (key: string, value: unknown) => key.length + JSON.stringify(value).length

export function localQuota(bytes: number): StorageAreaOptions['check'] {
  return (items) => {
    let sum = 0
    for (const [key, value] of items) sum += bytesOf(key, value)
    if (sum > bytes) throw new Error('Resource::kQuotaBytes quota exceeded')
  }
}

/** The quotas of `storage.sync`; `now` in milliseconds. */
export function syncQuota(now: () => number): StorageAreaOptions['check'] {
  let times: number[] = []
  return (items, changedKeys) => {
    const minuteAgo = now() - 60_000
    times = times.filter((time) => time > minuteAgo)
    // As in Chrome, a refused request does not count.
    if (times.length >= 120)
      throw new Error('This request exceeds the MAX_WRITE_OPERATIONS_PER_MINUTE quota.')
    times.push(now())
    if (changedKeys.some((key) => items.has(key) && bytesOf(key, items.get(key)) > 8192))
      throw new Error('Resource::kQuotaBytesPerItem quota exceeded')
    if (items.size > 512) throw new Error('Resource::kMaxItems quota exceeded')
    localQuota(102_400)(items, changedKeys)
  }
}
