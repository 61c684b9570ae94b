/** Each way to share state, as the benchmark uses it: write one entity, hear of it elsewhere, add an id to a list. */
import { Storage } from '@plasmohq/storage'
import { storage as wxt } from '@wxt-dev/storage'
import { chromeContext, createSync } from '../../src/sync/index.ts'

export interface Entity {
  readonly n: number
  readonly at: number
}

export interface Shared {
  write(id: string, entity: Entity): Promise<unknown>
  watch(id: string, heard: (entity: Entity) => void): void
  add(id: string): Promise<unknown>
  remove(id: string): Promise<unknown>
  has(id: string): Promise<boolean>
  ids(): Promise<readonly string[]>
}

export type SharedName = keyof typeof openShared

const { local, onChanged } = chrome.storage
const LIST = 'list'
const asIds = (value: unknown) => (Array.isArray(value) ? (value as string[]) : [])
const merged = (ids: unknown, id: string) => [...new Set([...asIds(ids), id])]
const without = (ids: unknown, id: string) => asIds(ids).filter((other) => other !== id)

export const openShared = {
  holdfast(): Shared {
    const sync = createSync<Entity>({ ...chromeContext(), onWarning: () => {} })
    void sync.bootstrap()
    return {
      write: (id, entity) => sync.setEntity(id, entity),
      watch: (id, heard) => sync.subscribe((change) => change.type === 'entity' && heard(change.entity), id),
      add: (id) => sync.setEntity(id, { n: 0, at: 0 }),
      remove: (id) => sync.removeEntity(id),
      has: async (id) => sync.get(id) !== undefined,
      async ids() {
        await sync.bootstrap()
        return sync.state.entries.map(([id]) => id)
      },
    }
  },
  bare(): Shared {
    return {
      write: (id, entity) => local.set({ [id]: entity }),
      watch: (id, heard) =>
        onChanged.addListener((changes) => id in changes && heard(changes[id]?.newValue as Entity)),
      add: async (id) => local.set({ [LIST]: merged((await local.get(LIST))[LIST], id) }),
      remove: async (id) => local.set({ [LIST]: without((await local.get(LIST))[LIST], id) }),
      has: async (id) => id in (await local.get(id)),
      ids: async () => asIds((await local.get(LIST))[LIST]),
    }
  },
  plasmo(): Shared {
    const storage = new Storage({ area: 'local' })
    return {
      write: (id, entity) => storage.set(id, entity),
      watch: (id, heard) => storage.watch({ [id]: ({ newValue }) => heard(newValue as Entity) }),
      add: async (id) => storage.set(LIST, merged(await storage.get(LIST), id)),
      remove: async (id) => storage.set(LIST, without(await storage.get(LIST), id)),
      has: async (id) => (await storage.get(id)) !== undefined,
      ids: async () => asIds(await storage.get(LIST)),
    }
  },
  wxt(): Shared {
    return {
      write: (id, entity) => wxt.setItem(`local:${id}`, entity),
      watch: (id, heard) => wxt.watch(`local:${id}`, (value) => heard(value as Entity)),
      add: async (id) => wxt.setItem(`local:${LIST}`, merged(await wxt.getItem(`local:${LIST}`), id)),
      remove: async (id) => wxt.setItem(`local:${LIST}`, without(await wxt.getItem(`local:${LIST}`), id)),
      has: async (id) => (await wxt.getItem(`local:${id}`)) !== null,
      ids: async () => asIds(await wxt.getItem(`local:${LIST}`)),
    }
  },
}
