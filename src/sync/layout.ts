/** Which keys of the storage contain what. All functions are pure: they compute what to read and what to write. */
import { isObject } from '../base/arguments.ts'
import { isId } from './json.ts'
import type { Items, StorageAdapter } from './storage.ts'

export type StorageKeys = Readonly<
  Record<'settings' | 'index' | 'entityPrefix' | 'all' | 'meta' | 'logPrefix', string>
>

function storageKeys(namespace: string, log = 'log'): StorageKeys {
  const prefix = namespace && `${namespace}/`
  return {
    settings: `${prefix}syncSettings`,
    /** Option B: the ids of all entities. An entity exists only if its id is in the index, or in the log. */
    index: `${prefix}trackedEntities:index`,
    /** Option B: the prefix of the key of each entity. */
    entityPrefix: `${prefix}trackedEntity:`,
    /** Option A: all entities in one key. */
    all: `${prefix}trackedEntities`,
    /** The revision of the index, and the format of the stored data. */
    meta: `${prefix}trackedEntities:meta`,
    /** The prefix of the key of each write that is not yet in the keys above. */
    logPrefix: `${prefix}trackedEntities:${log}:`,
  }
}

/** The keys of a sync without a namespace. */
export const STORAGE_KEYS: StorageKeys = storageKeys('')

export type EntityEntries = readonly (readonly [id: string, entity: object])[]

export interface Layout {
  readonly keys: StorageKeys
  /** The keys that contain the index. */
  readonly indexKeys: readonly string[]
  /** The keys of everything but the entities and the log. */
  readonly headKeys: readonly string[]
  /** An index without entities. */
  readonly empty: Items
  /** Whether the index contains the entities themselves. If not, each entity has a key of its own. */
  readonly inIndex: boolean
  /** The keys of entities. Empty if the index contains the entities. */
  entityKeys(ids: Iterable<string>): string[]
  /** The id of the entity whose key this is. */
  idOf(key: string): string | undefined
  /**
   * The ids in the index, in the order in which they were added. `null` if the index is damaged: it is not a list, or
   * it is missing although it was written once.
   */
  ids(items: Items): readonly string[] | null
  /** Finds entities in items that were read. */
  lookup(items: Items): (id: string) => unknown
  /** The entities to write, and the changed part of the index, which may be empty. */
  change(
    items: Items,
    removed: Iterable<string>,
    entries: EntityEntries,
  ): { readonly entities: Items; readonly index: Items }
}

export interface LayoutOptions {
  readonly namespace: string
  readonly option: 'A' | 'B'
  readonly shards: number
  readonly storage: StorageAdapter
}

export function createLayout({ namespace, option, shards, storage }: LayoutOptions): Layout {
  // The storage of a separate log may have a log of its own.
  const keys = storageKeys(namespace, storage.log ? 'shared-log' : 'log')
  const layout = option === 'A' ? optionA(keys) : optionB(keys, shards)
  const isMissing = (items: Items) =>
    !storage.shared && isObject(items[keys.meta]) && layout.indexKeys.some((key) => !(key in items))
  return {
    ...layout,
    keys,
    // A context also looks for data of the other option.
    headKeys: [...new Set([keys.meta, keys.settings, keys.all, keys.index, ...layout.indexKeys])],
    ids: (items) => (isMissing(items) ? null : layout.ids(items)),
  }
}

type IndexLayout = Omit<Layout, 'keys' | 'headKeys'>

/** Option A, for small sets: all entities in one key. */
function optionA(keys: StorageKeys): IndexLayout {
  const readAll = (items: Items) => {
    const all = items[keys.all] ?? {}
    return isObject(all) ? new Map(Object.entries(all)) : null
  }
  return {
    indexKeys: [keys.all],
    empty: { [keys.all]: {} },
    inIndex: true,
    entityKeys: () => [],
    idOf: () => undefined,
    ids(items) {
      const all = readAll(items)
      return all && [...all.keys()]
    },
    lookup(items) {
      const all = readAll(items)
      return (id) => all?.get(id)
    },
    change(items, removed, entries) {
      const all = readAll(items) ?? new Map()
      let changed = entries.length > 0
      for (const id of removed) changed = all.delete(id) || changed
      return {
        entities: {},
        index: changed ? { [keys.all]: Object.fromEntries([...all, ...entries]) } : {},
      }
    },
  }
}

/** A part of the index: the place of each id in the list of all ids. */
type Shard = Map<string, number>

/** Option B: one key for each entity, and an index in one key or in several (`shards`). */
function optionB(keys: StorageKeys, shards: number): IndexLayout {
  const indexKeys = Array.from({ length: shards }, (_, at) => (at ? `${keys.index}:${at}` : keys.index))
  const entityKey = (id: string) => keys.entityPrefix + id
  const read = (items: Items) => indexKeys.map((key) => readShard(items[key]))
  return {
    indexKeys,
    empty: Object.fromEntries(indexKeys.map((key) => [key, { ids: [] }])),
    inIndex: false,
    entityKeys: (ids) => Array.from(ids, entityKey),
    idOf: (key) => (key.startsWith(keys.entityPrefix) ? key.slice(keys.entityPrefix.length) : undefined),
    ids(items) {
      const parts = read(items)
      if (parts.includes(null)) return null
      const all = parts.flatMap((part) => [...(part ?? [])])
      if (shards > 1) all.sort((one, other) => one[1] - other[1])
      return all.map(([id]) => id)
    },
    lookup: (items) => (id) => items[entityKey(id)],
    change(items, removed, entries) {
      const parts = read(items).map((part): Shard => part ?? new Map())
      const changed = new Set<number>()
      let last = parts.flatMap((part) => [...part.values()]).reduce((a, b) => Math.max(a, b), 0)
      const shardOf = (id: string) => (shards === 1 ? 0 : hash(id) % shards)
      for (const id of removed) if (parts[shardOf(id)]?.delete(id)) changed.add(shardOf(id))
      for (const [id] of entries) {
        const part = parts[shardOf(id)]
        if (part?.has(id)) continue
        part?.set(id, ++last)
        changed.add(shardOf(id))
      }
      const written = (part: Shard = new Map()) => ({
        ids: [...part.keys()],
        ...(shards > 1 && { order: [...part.values()] }),
      })
      return {
        entities: Object.fromEntries(entries.map(([id, entity]) => [entityKey(id), entity])),
        index: Object.fromEntries(Array.from(changed, (at) => [indexKeys[at], written(parts[at])])),
      }
    },
  }
}

/** A missing index is empty. An index without a list of ids is damaged: `null`. Invalid ids in the list are skipped. */
function readShard(index: unknown): Shard | null {
  if (index === undefined) return new Map()
  const { ids, order } = Object(index) as { ids?: unknown; order?: unknown }
  if (!Array.isArray(ids)) return null
  const places = Array.isArray(order) ? order : []
  return new Map(
    ids.flatMap((id, at) => (isId(id) ? [[id, Number.isFinite(places[at]) ? places[at] : at + 1]] : [])),
  )
}

/** FNV-1a. Every context must compute the same shard for an id. */
function hash(id: string): number {
  let code = 0x811c9dc5
  for (let at = 0; at < id.length; at++) code = Math.imul(code ^ id.charCodeAt(at), 0x01000193)
  return code >>> 0
}
