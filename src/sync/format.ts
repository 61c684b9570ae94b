/** The format of the stored data, its record in the storage, and the migration from older formats. */
import { isObject, refuse } from '../base/arguments.ts'
import { LeaseError } from '../base/errors.ts'
import { type Layout, optionA, optionB, STORAGE_KEYS } from './layout.ts'
import type { Items, StorageAdapter } from './storage.ts'

/** A context must not write into a storage of another format. */
export interface Format {
  readonly schemaVersion: number
  readonly shards: number
}

export interface Meta extends Format {
  /** Increases with every change of the index, in the same write. */
  readonly revision: number
}

export function readMeta(items: Items): Meta {
  const stored = items[STORAGE_KEYS.meta]
  const { revision, schemaVersion, shards } = isObject(stored) ? stored : {}
  return {
    revision: atLeast(0, revision),
    schemaVersion: atLeast(1, schemaVersion),
    shards: atLeast(1, shards),
  }
}

function atLeast(min: number, value: unknown): number {
  return Number.isInteger(value) ? Math.max(min, value as number) : min
}

/** Must be written together with the index. */
export function nextMeta(meta: Meta): Items & { readonly [STORAGE_KEYS.meta]: Meta } {
  return { [STORAGE_KEYS.meta]: { ...meta, revision: meta.revision + 1 } }
}

export function fits(meta: Meta, format: Format): boolean {
  return meta.schemaVersion === format.schemaVersion && meta.shards === format.shards
}

export function otherFormat(meta: Meta, format: Format): LeaseError {
  const show = ({ schemaVersion, shards }: Format) => `schema ${schemaVersion}, index shards ${shards}`
  return new LeaseError(
    'store-failed',
    `the storage has another format: ${show(meta)}; this context expects ${show(format)}`,
  )
}

/** All stored data, as an older version of the application wrote it. */
export interface StoredState {
  readonly settings: unknown
  readonly entities: Readonly<Record<string, unknown>>
}

/** Migration functions by the version that they produce, from 2 on. */
export type Migrations = Readonly<Record<number, (state: StoredState) => StoredState>>

export interface MigrateOptions {
  readonly storage: StorageAdapter
  readonly layout: Layout
  readonly format: Format
  readonly migrations: Migrations
}

/** Whether the storage needs `migrate`: it has another format, or an older context wrote entities as option A. */
export function needsMigration(items: Items, layout: Layout, format: Format): boolean {
  return !fits(readMeta(items), format) || hasOptionA(items, layout)
}

/**
 * Migrates all stored data in one write, so that a crash leaves it either migrated or unchanged. Call it under the
 * lock. Resolves with `false` if there was nothing to migrate.
 */
export async function migrate({ storage, layout, format, migrations }: MigrateOptions): Promise<boolean> {
  const head = await storage.get([STORAGE_KEYS.meta, STORAGE_KEYS.settings, STORAGE_KEYS.all])
  const meta = readMeta(head)
  if (meta.schemaVersion > format.schemaVersion) throw otherFormat(meta, format)
  if (!needsMigration(head, layout, format)) return false

  const sources =
    layout === optionA ? [optionA] : [optionB(meta.shards), ...(hasOptionA(head, layout) ? [optionA] : [])]
  const before = await load(storage, sources, head)
  const after = upgrade(before, meta, format, migrations)
  const { entities, index } = layout.add({}, Object.entries(after.entities) as [string, object][])
  const items: Items = {
    ...entities,
    ...layout.empty,
    ...index,
    ...(after.settings !== undefined && { [STORAGE_KEYS.settings]: after.settings }),
    ...nextMeta({ ...meta, ...format }),
  }
  await storage.set(items)
  const ids = Object.keys(before.entities)
  const stale = sources.flatMap((source) => [...source.indexKeys, ...source.entityKeys(ids)])
  await storage.remove(stale.filter((key) => !(key in items)))
  return true
}

function hasOptionA(items: Items, layout: Layout): boolean {
  return layout !== optionA && STORAGE_KEYS.all in items && optionA.ids(items) !== null
}

/** Loads the entities of all sources. If two sources have the same id, the earlier source is newer. */
async function load(storage: StorageAdapter, sources: readonly Layout[], head: Items): Promise<StoredState> {
  const entities = new Map<string, unknown>()
  for (const source of sources) {
    const index = await storage.get(source.indexKeys)
    const ids = source.ids(index)
    if (!ids)
      throw new LeaseError(
        'store-failed',
        `${source.indexKeys[0]} is damaged, so the stored data cannot be migrated`,
      )
    const lookup = source.lookup({ ...index, ...(await storage.get(source.entityKeys(ids))) })
    for (const id of ids) {
      const entity = lookup(id)
      if (entity !== undefined && !entities.has(id)) entities.set(id, entity)
    }
  }
  return { settings: head[STORAGE_KEYS.settings], entities: Object.fromEntries(entities) }
}

function upgrade(state: StoredState, meta: Meta, format: Format, migrations: Migrations): StoredState {
  if (state.settings === undefined && Object.keys(state.entities).length === 0) return state
  let upgraded = state
  for (let version = meta.schemaVersion + 1; version <= format.schemaVersion; version++) {
    const next = migrations[version]?.(upgraded)
    if (!isObject(next?.entities))
      refuse(`schema.migrations[${version}]`, 'a function that returns { settings, entities }', next)
    upgraded = next
  }
  return upgraded
}
