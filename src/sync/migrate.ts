import { LeaseError } from '../core/index.ts'
import { invalid, isObject } from './json.ts'
import { STORAGE_KEYS } from './keys.ts'
import { type Layout, optionA, optionB } from './layout.ts'
import { type Format, fits, type Meta, nextMeta, otherFormat, readMeta } from './meta.ts'
import type { Items, StorageAdapter } from './storage.ts'

/** All that is stored, as some version of the application wrote it. */
export interface StoredState {
  readonly settings: unknown
  readonly entities: Readonly<Record<string, unknown>>
}

/** By the version that each of them leads to, from 2 on. */
export type Migrations = Readonly<Record<number, (state: StoredState) => StoredState>>

export interface MigrateOptions {
  readonly storage: StorageAdapter
  readonly layout: Layout
  readonly format: Format
  readonly migrations: Migrations
}

/** Whether what was read needs `migrate`. Besides the format, entities may have been left in option A. */
export function needsMigration(items: Items, layout: Layout, format: Format): boolean {
  return !fits(readMeta(items), format) || hasOptionA(items, layout)
}

/**
 * Brings all that is stored into the wanted format, in one write: whoever comes second, or again after a crash,
 * finds either everything done or nothing. To be called under the lock. Resolves with whether there was need.
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

/** From all sources; what lies in an earlier one is newer. */
async function load(storage: StorageAdapter, sources: readonly Layout[], head: Items): Promise<StoredState> {
  const entities = new Map<string, unknown>()
  for (const source of sources) {
    const index = await storage.get(source.indexKeys)
    const ids = source.ids(index)
    if (!ids) throw new LeaseError('store-failed', `${source.indexKeys[0]} is damaged`)
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
      throw invalid(`schema.migrations[${version}]`, 'one that returns { settings, entities }', next)
    upgraded = next
  }
  return upgraded
}
