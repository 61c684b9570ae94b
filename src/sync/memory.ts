import { isDeepEqual } from './json.ts'
import { subscribeTo } from './listeners.ts'
import type { MessageListener, Messenger } from './messenger.ts'
import type { StorageAdapter, StorageChange, StorageListener } from './storage.ts'

/**
 * A storage in memory, which all contexts of a process share: for tests.
 *
 * @example
 * const storage = memoryStorage()
 * const sync = createSync({ storage })
 */
export function memoryStorage(items: Readonly<Record<string, unknown>> = {}): StorageAdapter {
  const stored = new Map(Object.entries(structuredClone(items)))
  const listeners = new Set<StorageListener>()
  return {
    get: async (keys) =>
      Object.fromEntries(
        keys.filter((key) => stored.has(key)).map((key) => [key, structuredClone(stored.get(key))]),
      ),
    async set(items) {
      tell(Object.entries(structuredClone(items)).map(([key, newValue]) => change(key, newValue)))
    },
    async remove(keys) {
      tell(keys.map((key) => change(key, undefined)))
    },
    keys: async () => [...stored.keys()],
    subscribe: (listener) => subscribeTo(listeners, listener),
  }

  function change(key: string, newValue: unknown): readonly [string, StorageChange] | undefined {
    const oldValue = stored.get(key)
    if (newValue === undefined) stored.delete(key)
    else stored.set(key, newValue)
    if (isDeepEqual(oldValue, newValue)) return undefined
    return [key, { ...(oldValue !== undefined && { oldValue }), ...(newValue !== undefined && { newValue }) }]
  }

  function tell(changed: readonly (readonly [string, StorageChange] | undefined)[]): void {
    const changes = Object.fromEntries(changed.filter((entry) => entry !== undefined))
    if (Object.keys(changes).length === 0) return
    for (const listener of listeners) queueMicrotask(() => listener(structuredClone(changes)))
  }
}

/**
 * Messengers that are connected with each other: call it once for each context.
 *
 * @example
 * const connect = memoryMessengers()
 * const sync = createSync({ storage, messenger: connect() })
 */
export function memoryMessengers(): () => Messenger {
  const contexts = new Set<ReadonlySet<MessageListener>>()
  return () => {
    const own = new Set<MessageListener>()
    contexts.add(own)
    return {
      async send(message) {
        const others = [...contexts].filter((context) => context !== own).flatMap((context) => [...context])
        await undefined
        const answers = others.map((listener) => listener(structuredClone(message)))
        return answers.find((answer) => answer !== undefined)
      },
      subscribe: (listener) => subscribeTo(own, listener),
    }
  }
}
