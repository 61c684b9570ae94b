/** Each way to share state, as the benchmark uses it: write one entity, hear of it elsewhere, add an id to a list. */
import { Storage } from '@plasmohq/storage'
import { storage as wxt } from '@wxt-dev/storage'
import { chromeContext, createSync } from '../../src/sync/index.ts'

export interface Entity {
  readonly n: number
  readonly at: number
}

export interface Shared {
  /** Stores many entities, and their ids in the list. */
  fill(ids: readonly string[]): Promise<unknown>
  /** Sets an entity that is in the list. */
  write(id: string, entity: Entity): Promise<unknown>
  watch(id: string, heard: (entity: Entity) => void): void
  /** Stores an entity, and its id in the list. */
  add(id: string): Promise<unknown>
  remove(id: string): Promise<unknown>
  has(id: string): Promise<boolean>
  ids(): Promise<readonly string[]>
}

export type SharedName = keyof typeof openShared

const { local, onChanged } = chrome.storage
const LIST = 'list'
const EMPTY: Entity = { n: 0, at: 0 }

/** A library that stores values by key: the list of ids is a value of its own, which is read, changed and stored. */
interface Values {
  get(key: string): Promise<unknown>
  set(key: string, value: unknown): Promise<unknown>
  remove(key: string): Promise<unknown>
  watch(key: string, heard: (value: unknown) => void): void
}

function listOver({ get, set, remove, watch }: Values): Shared {
  const ids = async () => ((await get(LIST)) ?? []) as string[]
  return {
    async fill(ids) {
      await local.set(Object.fromEntries(ids.map((id) => [id, EMPTY])))
      await set(LIST, ids)
    },
    write: set,
    watch: (id, heard) => watch(id, (value) => heard(value as Entity)),
    async add(id) {
      await set(id, EMPTY)
      await set(LIST, [...new Set([...(await ids()), id])])
    },
    async remove(id) {
      await set(
        LIST,
        (await ids()).filter((other) => other !== id),
      )
      await remove(id)
    },
    has: async (id) => Boolean(await get(id)),
    ids,
  }
}

export const openShared = {
  bare: () =>
    listOver({
      get: async (key) => (await local.get(key))[key],
      set: (key, value) => local.set({ [key]: value }),
      remove: (key) => local.remove(key),
      watch: (key, heard) =>
        onChanged.addListener((changes) => key in changes && heard(changes[key]?.newValue)),
    }),
  holdfast(): Shared {
    const sync = createSync<Entity>({ ...chromeContext(), onWarning: () => {} })
    void sync.bootstrap()
    return {
      fill: (ids) => sync.setEntities(ids.map((id) => [id, EMPTY])),
      write: (id, entity) => sync.setEntity(id, entity),
      watch: (id, heard) => sync.subscribe((change) => change.type === 'entity' && heard(change.entity), id),
      add: (id) => sync.setEntity(id, EMPTY),
      remove: (id) => sync.removeEntity(id),
      has: async (id) => sync.get(id) !== undefined,
      async ids() {
        await sync.bootstrap()
        return sync.state.entries.map(([id]) => id)
      },
    }
  },
  plasmo() {
    const storage = new Storage({ area: 'local' })
    return listOver({
      get: (key) => storage.get(key),
      set: (key, value) => storage.set(key, value),
      remove: (key) => storage.remove(key),
      watch: (key, heard) => storage.watch({ [key]: ({ newValue }) => heard(newValue) }),
    })
  },
  wxt: () =>
    listOver({
      get: (key) => wxt.getItem(`local:${key}`),
      set: (key, value) => wxt.setItem(`local:${key}`, value),
      remove: (key) => wxt.removeItem(`local:${key}`),
      watch: (key, heard) => wxt.watch(`local:${key}`, heard),
    }),
}
