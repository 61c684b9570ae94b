/// <reference types="chrome" />
/** What the benchmark does inside a page of the extension. */
import { chromeContext, createSync, STORAGE_KEYS } from '../../src/sync/index.ts'
import { type Entity, openShared, type Shared, type SharedName } from './stores.ts'

const opened = new Map<SharedName, Promise<Shared>>()
const latencies: number[] = []
const now = () => performance.timeOrigin + performance.now()

function shared(name: SharedName): Promise<Shared> {
  const store = opened.get(name) ?? openShared[name]()
  opened.set(name, store)
  return store
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

export const scenarios = {
  clear: () => chrome.storage.local.clear(),

  async fill(count: number): Promise<void> {
    const sync = createSync<Entity>({ ...chromeContext(), onWarning: () => {} })
    await sync.setEntities(Array.from({ length: count }, (_, n) => [`entity-${n}`, { n, at: 0 }]))
    await sync.close()
  },

  /** Milliseconds of the bare `get` of all keys, and of a bootstrap. */
  async bootstrap(count: number): Promise<{ bare: number; ours: number }> {
    const entityKeys = Array.from({ length: count }, (_, n) => `${STORAGE_KEYS.entityPrefix}entity-${n}`)
    const keys = [STORAGE_KEYS.settings, STORAGE_KEYS.index, ...entityKeys]
    const bare = await timed(() => chrome.storage.local.get(keys))
    const sync = createSync<Entity>(chromeContext())
    const ours = await timed(() => sync.bootstrap())
    if (sync.entries().length !== count) throw new Error(`${sync.entries().length} of ${count} entities`)
    await sync.close()
    return { bare, ours }
  },

  async listen(name: SharedName, id: string): Promise<void> {
    const store = await shared(name)
    store.watch(id, ({ at }) => latencies.push(now() - at))
  },

  /** Milliseconds of each write. */
  async write(name: SharedName, id: string, count: number): Promise<number[]> {
    const store = await shared(name)
    const times: number[] = []
    for (let n = 0; n < count; n++) {
      times.push(await timed(() => store.write(id, { n, at: now() })))
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    return times
  },

  heard: async () => latencies.splice(0),

  async add(name: SharedName, prefix: string, count: number): Promise<void> {
    const store = await shared(name)
    for (let n = 0; n < count; n++) await store.add(`${prefix}${n}`)
  },

  ids: async (name: SharedName) => (await shared(name)).ids(),
}

Object.assign(globalThis, { scenarios })
