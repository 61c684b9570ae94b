import type { ChromeChange, ChromeStorageArea } from '../../sync/index.ts'
import type { Connection } from './context.ts'
import { jsonCopy } from './wire.ts'

export interface StorageArea {
  from(context: Connection): Required<ChromeStorageArea>
  /** A copy of all that is stored now. */
  items(): Record<string, unknown>
}

export interface StorageAreaOptions {
  readonly changed: (changes: Record<string, ChromeChange>) => void
  /** Throws when this may not be stored. */
  readonly check: (items: ReadonlyMap<string, unknown>, changedKeys: readonly string[]) => void
  /** Firefox tells of keys that were set to what they were. */
  readonly tellsUnchanged: boolean
}

export function createStorageArea({ changed, check, tellsUnchanged }: StorageAreaOptions): StorageArea {
  let stored = new Map<string, unknown>()
  const all = () => jsonCopy(Object.fromEntries(stored)) as Record<string, unknown>

  function write(next: ReadonlyMap<string, unknown>, keys: readonly string[]): void {
    check(next, keys)
    const before = stored
    stored = new Map(next)
    const changes: Record<string, ChromeChange> = {}
    for (const key of keys) {
      const [oldValue, newValue] = [before.get(key), stored.get(key)]
      const equal = JSON.stringify(oldValue) === JSON.stringify(newValue)
      if (equal && !(tellsUnchanged && newValue !== undefined)) continue
      changes[key] = {
        ...(oldValue !== undefined && { oldValue }),
        ...(newValue !== undefined && { newValue }),
      }
    }
    if (Object.keys(changes).length > 0) changed(changes)
  }

  return {
    from: (context) => ({
      get: (keys) =>
        context.call(() =>
          keys === null
            ? all()
            : Object.fromEntries(Object.entries(all()).filter(([key]) => keys.includes(key))),
        ),
      set(items) {
        // Copied when it is sent, not when it arrives.
        const copies = Object.entries(jsonCopy(items) as Record<string, unknown>)
        return context.call(() =>
          write(
            new Map([...stored, ...copies]),
            copies.map(([key]) => key),
          ),
        )
      },
      remove: (keys) =>
        context.call(() => {
          const gone = new Set(keys)
          write(new Map([...stored].filter(([key]) => !gone.has(key))), [...gone])
        }),
      getKeys: () => context.call(() => [...stored.keys()]),
    }),
    items: all,
  }
}

const bytesOf = (key: string, value: unknown) => key.length + JSON.stringify(value).length

export function localQuota(bytes: number): StorageAreaOptions['check'] {
  return (items) => {
    let sum = 0
    for (const [key, value] of items) sum += bytesOf(key, value)
    if (sum > bytes) throw new Error('QUOTA_BYTES quota exceeded')
  }
}

/** The quotas of `storage.sync`; `now` in milliseconds. */
export function syncQuota(now: () => number): StorageAreaOptions['check'] {
  let times: number[] = []
  return (items, changedKeys) => {
    const minuteAgo = now() - 60_000
    times = [...times.filter((time) => time > minuteAgo), now()]
    if (times.length > 120) throw new Error('MAX_WRITE_OPERATIONS_PER_MINUTE quota exceeded')
    if (changedKeys.some((key) => items.has(key) && bytesOf(key, items.get(key)) > 8192))
      throw new Error('QUOTA_BYTES_PER_ITEM quota exceeded')
    if (items.size > 512) throw new Error('MAX_ITEMS quota exceeded')
    localQuota(102_400)(items, changedKeys)
  }
}
