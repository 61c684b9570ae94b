/** Which keys of the storage contain what. All functions but `storedIds` are pure: they compute what to read. */

import { isObject } from '../base/arguments.ts'
import { isId } from './json.ts'
import type { Items, StorageAdapter } from './storage.ts'

export type StorageKeys = Readonly<
  Record<'settings' | 'index' | 'entityPrefix' | 'all' | 'meta' | 'logPrefix', string>
>

function storageKeys(namespace: string, log = 'log'): StorageKeys {
  const prefix = namespace && `${namespace}/`
  const all = `${prefix}trackedEntities`
  return {
    settings: `${prefix}syncSettings`,
    /** `key-per-entity`: the ids of all entities. An entity exists only if its id is in the index, or in the log. */
    index: `${all}:index`,
    /** `key-per-entity`: the prefix of the key of each entity. */
    entityPrefix: `${prefix}trackedEntity:`,
    /** `one-key`: all entities in one key. */
    all,
    /** The revision of the index, and the format of the stored data. */
    meta: `${all}:meta`,
    /** The prefix of the key of each write that is not yet in the keys above. */
    logPrefix: `${all}:${log}:`,
  }
}

/** The keys of a sync without a namespace. */
export const STORAGE_KEYS: StorageKeys = /* @__PURE__ */ storageKeys('')

export const LAYOUT_NAMES = ['one-key', 'key-per-entity'] as const
export type LayoutName = (typeof LAYOUT_NAMES)[number]

export interface LayoutOptions {
  readonly namespace: string
  /** As it is stored: see `Format`. */
  readonly option: string
  readonly shards: number
  readonly storage: StorageAdapter
}

/**
 * A part of the index. `one-key`: the entities by id, all in one part. `key-per-entity`: the place of each id in the list of all
 * ids, in one part or in several (`shards`).
 */
export type Part = Map<string, unknown>

export type Layout = ReturnType<typeof createLayout>

export function createLayout({ namespace, option, shards: wanted, storage }: LayoutOptions) {
  // The storage of a separate log may have a log of its own.
  const keys = storageKeys(namespace, storage.log ? 'shared-log' : 'log')
  /** Whether the index contains the entities themselves. If not, each entity has a key of its own. */
  const inIndex = option === 'A'
  const shards = inIndex ? 1 : wanted
  const indexKeys = Array.from({ length: shards }, (_, at) =>
    inIndex ? keys.all : at ? `${keys.index}:${at}` : keys.index,
  )
  const read = (items: Items) => indexKeys.map((key) => (inIndex ? readAll : readShard)(items[key]))
  const entityKey = (id: string) => keys.entityPrefix + id
  const idOf = (key: string): string | undefined =>
    !inIndex && key.startsWith(keys.entityPrefix) ? key.slice(keys.entityPrefix.length) : undefined

  return {
    keys,
    /** The keys that contain the index. */
    indexKeys,
    /** The keys of everything but the entities and the log, also of the other layout. */
    headKeys: [...new Set([keys.meta, keys.settings, keys.all, keys.index, ...indexKeys])],
    inIndex,
    /** The parts of the index, one for each of its keys. `null`: the part is damaged. */
    read,
    entityKey,
    /** The keys of entities. Empty if the index contains the entities. */
    entityKeys: (ids: Iterable<string>): string[] => (inIndex ? [] : Array.from(ids, entityKey)),
    /** Whether this is the key of a record of the log. */
    isRecord: (key: string) => key.startsWith(keys.logPrefix),
    /** The id of the entity whose key this is. */
    idOf,
    /** The ids of the entities that have a key, also of orphans. */
    storedIds: async () => (await storage.keys()).flatMap((key) => idOf(key) ?? []),
    /**
     * The ids in the index, in the order in which they were added. `null` if the index is damaged: it is not a list of
     * ids, or it is missing although it was written once. `found`: entities that are in it in any case.
     */
    ids(items: Items, found: readonly string[] = []): readonly string[] | null {
      const parts = read(items)
      const isMissing = isObject(items[keys.meta]) && indexKeys.some((key) => !(key in items))
      if (parts.includes(null) || (isMissing && !storage.shared)) return found.length > 0 ? found : null
      const all = parts.flatMap((part) => [...(part ?? [])])
      if (shards > 1) all.sort((one, other) => Number(one[1]) - Number(other[1]))
      return [...new Set(all.map(([id]) => id).concat(found))]
    },
    /** Finds entities in items that were read. */
    lookup(items: Items): (id: string) => unknown {
      const [all] = inIndex ? read(items) : []
      return (id) => (inIndex ? all?.get(id) : items[entityKey(id)])
    },
  }
}

/** `one-key`. A missing index is empty. `null` if it is damaged. */
function readAll(all: unknown = {}): Part | null {
  return isObject(all) ? new Map(Object.entries(all)) : null
}

/** `key-per-entity`. An index that is not a list of ids is damaged: `null`. */
function readShard(index: unknown = { ids: [] }): Part | null {
  const { ids, order } = Object(index) as { ids?: unknown; order?: unknown }
  if (!Array.isArray(ids) || !ids.every(isId)) return null
  const places = Array.isArray(order) ? order : []
  return new Map(ids.map((id, at) => [id, Number.isFinite(places[at]) ? places[at] : at + 1]))
}
