import { expectFunction, expectObject, refuse } from '../base/arguments.ts'
import { createEmitter } from '../base/emitter.ts'
import { isDeepEqual } from './json.ts'
import type { MessageListener, Messenger } from './messenger.ts'
import type { Items, StorageAdapter, StorageChange } from './storage.ts'

/**
 * A storage in memory that all contexts of a process share: for tests.
 *
 * @example
 * const storage = memoryStorage()
 * const sync = createSync({ storage })
 */
export function memoryStorage(items: Items = {}): StorageAdapter {
  const stored = new Map(Object.entries(cloneItems(items)))
  const emitter = createEmitter<Readonly<Record<string, StorageChange>>>()
  return {
    get: async (keys) =>
      Object.fromEntries(
        keys.filter((key) => stored.has(key)).map((key) => [key, structuredClone(stored.get(key))]),
      ),
    async set(items) {
      announce(Object.entries(cloneItems(items)).map(([key, newValue]) => change(key, newValue)))
    },
    async remove(keys) {
      announce(keys.map((key) => change(key, undefined)))
    },
    keys: async () => [...stored.keys()],
    subscribe(listener) {
      expectFunction('listener', listener)
      return emitter.subscribe((changes) => listener(structuredClone(changes)))
    },
  }

  function change(key: string, newValue: unknown): readonly [string, StorageChange] | undefined {
    const oldValue = stored.get(key)
    if (newValue === undefined) stored.delete(key)
    else stored.set(key, newValue)
    if (isDeepEqual(oldValue, newValue)) return undefined
    return [key, { ...(oldValue !== undefined && { oldValue }), ...(newValue !== undefined && { newValue }) }]
  }

  function announce(changed: readonly (readonly [string, StorageChange] | undefined)[]): void {
    const changes = Object.fromEntries(changed.filter((entry) => entry !== undefined))
    if (Object.keys(changes).length > 0) queueMicrotask(() => emitter.emit(changes))
  }
}

function cloneItems(items: Items): Items {
  expectObject('items', items)
  try {
    return structuredClone(items)
  } catch {
    refuse('items', 'values that can be cloned', items)
  }
}

/**
 * Messengers that are connected with each other. Call the result once for each context.
 *
 * @example
 * const connect = memoryMessengers()
 * const sync = createSync({ storage, messenger: connect() })
 */
export function memoryMessengers(): () => Messenger {
  interface Subscription {
    readonly listener: MessageListener
  }
  const contexts = new Set<ReadonlySet<Subscription>>()
  return () => {
    const own = new Set<Subscription>()
    contexts.add(own)
    return {
      async send(message) {
        const others = [...contexts].filter((context) => context !== own).flatMap((context) => [...context])
        await undefined
        const answers = others.map(({ listener }) => answerOf(listener, structuredClone(message)))
        return answers.find((answer) => answer !== undefined)
      },
      subscribe(listener) {
        expectFunction('listener', listener)
        const subscription = { listener }
        own.add(subscription)
        return () => own.delete(subscription)
      },
    }
  }
}

/** A listener that throws gives no answer. */
function answerOf(listener: MessageListener, message: unknown): unknown {
  try {
    return listener(message)
  } catch {
    return undefined
  }
}
