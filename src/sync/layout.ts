/** Which keys of the storage contain what. All functions are pure: they compute what to read and what to write. */
import { isObject } from '../base/arguments.ts'
import { isId } from './json.ts'
import type { Items } from './storage.ts'

export const STORAGE_KEYS = {
  settings: 'syncSettings',
  /** Option B: the ids of all entities. An entity exists only if its id is in the index. */
  index: 'trackedEntities:index',
  /** Option B: the prefix of the key of each entity. */
  entityPrefix: 'trackedEntity:',
  /** Option A: all entities in one key. */
  all: 'trackedEntities',
  /** The revision of the index, and the format of the stored data. */
  meta: 'trackedEntities:meta',
} as const

export type EntityEntries = readonly (readonly [id: string, entity: object])[]

export interface Layout {
  /** The keys that contain the index. */
  readonly indexKeys: readonly string[]
  /** An index without entities. */
  readonly empty: Items
  /** Those index keys that contain these ids. */
  indexKeysOf(ids: readonly string[]): readonly string[]
  /** Whether the index contains the entities themselves. If not, each entity has a key of its own. */
  readonly inIndex: boolean
  /** The keys of entities. Empty if the index contains the entities. */
  entityKeys(ids: readonly string[]): readonly string[]
  /** What a key contains: the index or an entity. `undefined` for other keys. */
  subject(key: string): { readonly index: true; readonly id?: never } | { readonly id: string } | undefined
  /** The ids in the index. `null` if the index is damaged. */
  ids(items: Items): readonly string[] | null
  /** Finds entities in items that were read. */
  lookup(items: Items): (id: string) => unknown
  /** Two writes, in this order: first the entities, then the changed part of the index, which may be empty. */
  add(items: Items, entries: EntityEntries): { readonly entities: Items; readonly index: Items }
  /** The changed part of the index without the ids. Empty if none of the ids was in it. */
  drop(items: Items, ids: readonly string[]): Items
}

/** Option A, for small sets: all entities in one key. */
export const optionA: Layout = {
  indexKeys: [STORAGE_KEYS.all],
  empty: { [STORAGE_KEYS.all]: {} },
  indexKeysOf: () => [STORAGE_KEYS.all],
  inIndex: true,
  entityKeys: () => [],
  subject: (key) => (key === STORAGE_KEYS.all ? { index: true } : undefined),
  ids: (items) => {
    const all = readAll(items)
    return all && [...all.keys()]
  },
  lookup(items) {
    const all = readAll(items)
    return (id) => all?.get(id)
  },
  add: (items, entries) => ({
    entities: {},
    index: { [STORAGE_KEYS.all]: Object.fromEntries([...(readAll(items) ?? []), ...entries]) },
  }),
  drop: (items, ids) => {
    const all = readAll(items) ?? new Map()
    const dropped = ids.filter((id) => all.delete(id))
    return dropped.length > 0 ? { [STORAGE_KEYS.all]: Object.fromEntries(all) } : {}
  },
}

function readAll(items: Items): Map<string, unknown> | null {
  const all = items[STORAGE_KEYS.all] ?? {}
  return isObject(all) ? new Map(Object.entries(all)) : null
}

/** Option B: one key for each entity, and an index in one key or in several (`shards`). */
export function optionB(shards: number): Layout {
  const indexKeys = Array.from({ length: shards }, (_, shard) => indexKey(shard))
  const indexKeyOf = (id: string) => indexKey(shards === 1 ? 0 : hash(id) % shards)
  return {
    indexKeys,
    empty: Object.fromEntries(indexKeys.map((key) => [key, { ids: [] }])),
    indexKeysOf: (ids) => [...new Set(ids.map(indexKeyOf))],
    inIndex: false,
    entityKeys: (ids) => ids.map(entityKey),
    subject(key) {
      if (key.startsWith(STORAGE_KEYS.entityPrefix))
        return { id: key.slice(STORAGE_KEYS.entityPrefix.length) }
      return indexKeys.includes(key) ? { index: true } : undefined
    },
    ids(items) {
      const parts = indexKeys.map((key) => readIndex(items[key]))
      return parts.includes(null) ? null : parts.flatMap((part) => part ?? [])
    },
    lookup: (items) => (id) => items[entityKey(id)],
    add: (items, entries) => ({
      entities: Object.fromEntries(entries.map(([id, entity]) => [entityKey(id), entity])),
      index: changeIndex(
        items,
        entries.map(([id]) => id),
        (ids, added) => [...new Set([...ids, ...added])],
      ),
    }),
    drop: (items, dropped) =>
      changeIndex(items, dropped, (ids, gone) => {
        const without = new Set(gone)
        return ids.filter((id) => !without.has(id))
      }),
  }

  function changeIndex(
    items: Items,
    ids: readonly string[],
    merge: (stored: readonly string[], ids: readonly string[]) => readonly string[],
  ): Items {
    const changed: Record<string, unknown> = {}
    for (const [key, own] of Map.groupBy(ids, indexKeyOf)) {
      const stored = readIndex(items[key]) ?? []
      const merged = merge(stored, own)
      if (merged.length !== stored.length) changed[key] = { ids: merged }
    }
    return changed
  }
}

function entityKey(id: string): string {
  return STORAGE_KEYS.entityPrefix + id
}

function indexKey(shard: number): string {
  return shard === 0 ? STORAGE_KEYS.index : `${STORAGE_KEYS.index}:${shard}`
}

/** A missing index is empty. An index without a list of ids is damaged: `null`. Invalid ids in the list are skipped. */
function readIndex(index: unknown): readonly string[] | null {
  if (index === undefined) return []
  const { ids } = Object(index) as { ids?: unknown }
  return Array.isArray(ids) ? [...new Set(ids.filter(isId))] : null
}

/** FNV-1a. Every context must compute the same shard for an id. */
function hash(id: string): number {
  let code = 0x811c9dc5
  for (let at = 0; at < id.length; at++) code = Math.imul(code ^ id.charCodeAt(at), 0x01000193)
  return code >>> 0
}
