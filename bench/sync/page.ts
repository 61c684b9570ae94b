/// <reference types="chrome" />
/** What the benchmark does inside a page of the extension. */
import { chromeContext, createSync, STORAGE_KEYS } from '../../src/sync/index.ts'
import { type Entity, openShared, type Shared, type SharedName } from './stores.ts'

const opened = new Map<SharedName, Shared>()
const latencies: number[] = []
const now = () => performance.timeOrigin + performance.now()

function shared(name: SharedName): Shared {
  const store = opened.get(name) ?? openShared[name]()
  opened.set(name, store)
  return store
}

/** So that one operation does not wait for what the one before it left to do. */
const pause = () => new Promise((resolve) => setTimeout(resolve, 5))

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

type Operation = 'bare' | 'add' | 'set' | 'remove'

export const scenarios = {
  clear: () => chrome.storage.local.clear(),

  fill: (name: SharedName, count: number) =>
    shared(name).fill(Array.from({ length: count }, (_, n) => `entity-${n}`)),

  /** Milliseconds of the bare `get` of all keys, and of a bootstrap. */
  async bootstrap(count: number): Promise<{ bare: number; ours: number }> {
    const entityKeys = Array.from({ length: count }, (_, n) => `${STORAGE_KEYS.entityPrefix}entity-${n}`)
    const keys = [STORAGE_KEYS.settings, STORAGE_KEYS.index, ...entityKeys]
    const bare = await timed(() => chrome.storage.local.get(keys))
    const sync = createSync<Entity>(chromeContext())
    const ours = await timed(() => sync.bootstrap())
    if (sync.state.entries.length !== count)
      throw new Error(`${sync.state.entries.length} of ${count} entities`)
    await sync.close()
    return { bare, ours }
  },

  async listen(name: SharedName, id: string): Promise<void> {
    const store = shared(name)
    store.watch(id, ({ at }) => latencies.push(now() - at))
  },

  /** Milliseconds of each write. */
  async write(name: SharedName, id: string, count: number): Promise<number[]> {
    const store = shared(name)
    const times: number[] = []
    for (let n = 0; n < count; n++) {
      times.push(await timed(() => store.write(id, { n, at: now() })))
      await pause()
    }
    return times
  },

  heard: async () => latencies.splice(0),

  async add(name: SharedName, prefix: string, count: number): Promise<void> {
    const store = shared(name)
    for (let n = 0; n < count; n++) await store.add(`${prefix}${n}`)
  },

  ids: (name: SharedName) => shared(name).ids(),

  /** Milliseconds of each bare write, add, change and removal, which take turns. */
  async operations(name: SharedName, count: number): Promise<Record<Operation, number[]>> {
    const store = shared(name)
    const bare = shared('bare')
    await store.ids()
    const times: Record<Operation, number[]> = { bare: [], add: [], set: [], remove: [] }
    const measure = async (operation: Operation, work: () => Promise<unknown>) => {
      times[operation].push(await timed(work))
      await pause()
    }
    for (let n = 0; n < count; n++) {
      await measure('bare', () => bare.write('bare', { n, at: 0 }))
      await measure('add', () => store.add(`added-${n}`))
      await measure('set', () => store.write('entity-7', { n, at: 0 }))
      await measure('remove', () => store.remove(`entity-${n + 10}`))
    }
    return times
  },

  /** Milliseconds until all writes are stored that were started without waiting. */
  queued: (name: SharedName, count: number) =>
    timed(() =>
      Promise.all(Array.from({ length: count }, (_, n) => shared(name).write(`queued-${n}`, { n, at: 0 }))),
    ),

  /** Writes, and closes the page in the same turn. */
  async writeAndClose(name: SharedName, id: string): Promise<void> {
    void shared(name).write(id, { n: 0, at: 0 })
    close()
  },

  async kept(name: SharedName, ids: readonly string[]): Promise<number> {
    const store = shared(name)
    await store.ids()
    const found = await Promise.all(ids.map((id) => store.has(id)))
    return found.filter(Boolean).length
  },
}

Object.assign(globalThis, { scenarios })
