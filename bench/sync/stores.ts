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
  ids(): Promise<readonly string[]>
}

export type SharedName = keyof typeof openShared

const { local, onChanged } = chrome.storage
const LIST = 'list'
const asIds = (value: unknown) => (Array.isArray(value) ? (value as string[]) : [])
const merged = (ids: unknown, id: string) => [...new Set([...asIds(ids), id])]

export const openShared = {
  async holdfast(): Promise<Shared> {
    const sync = createSync<Entity>({ ...chromeContext(), onWarning: () => {} })
    await sync.bootstrap()
    return {
      write: (id, entity) => sync.setEntity(id, entity),
      watch: (id, heard) => sync.subscribe((change) => change.type === 'entity' && heard(change.entity), id),
      add: (id) => sync.setEntity(id, { n: 0, at: 0 }),
      ids: async () => sync.entries().map(([id]) => id),
    }
  },
  async bare(): Promise<Shared> {
    return {
      write: (id, entity) => local.set({ [id]: entity }),
      watch: (id, heard) =>
        onChanged.addListener((changes) => id in changes && heard(changes[id]?.newValue as Entity)),
      add: async (id) => local.set({ [LIST]: merged((await local.get(LIST))[LIST], id) }),
      ids: async () => asIds((await local.get(LIST))[LIST]),
    }
  },
  async plasmo(): Promise<Shared> {
    const storage = new Storage({ area: 'local' })
    return {
      write: (id, entity) => storage.set(id, entity),
      watch: (id, heard) => storage.watch({ [id]: ({ newValue }) => heard(newValue as Entity) }),
      add: async (id) => storage.set(LIST, merged(await storage.get(LIST), id)),
      ids: async () => asIds(await storage.get(LIST)),
    }
  },
  async wxt(): Promise<Shared> {
    return {
      write: (id, entity) => wxt.setItem(`local:${id}`, entity),
      watch: (id, heard) => wxt.watch(`local:${id}`, (value) => heard(value as Entity)),
      add: async (id) => wxt.setItem(`local:${LIST}`, merged(await wxt.getItem(`local:${LIST}`), id)),
      ids: async () => asIds(await wxt.getItem(`local:${LIST}`)),
    }
  },
}
