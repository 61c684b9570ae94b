/** The migration of all stored data from an older format. */
import type { Format } from './format.ts'
import { changeIndex, emptyIndex, readHead } from './index-changes.ts'
import type { Layout } from './layout.ts'
import type { Items, StorageAdapter } from './storage.ts'
import { expectIds, readRecords } from './stored-records.ts'
import type { WriterTools } from './writer-tools.ts'

/** All stored data, as an older version of the application wrote it. */
export interface StoredState {
  readonly settings: unknown
  readonly entities: Readonly<Record<string, unknown>>
}

/** Migration functions by the version that they produce, from 2 on. */
export type Migrations = Readonly<Record<number, (state: StoredState) => StoredState>>

/** The changes that are made under the lock. They fail once it is lost, because another context may write then. */
export interface Writes {
  /** `to`: by default the storage, not its log. */
  set(items: Items, to?: StorageAdapter): Promise<void>
  remove(keys: readonly string[], records?: readonly string[]): Promise<void>
}

export interface MigrateOptions {
  readonly storage: StorageAdapter
  readonly layout: Layout
  readonly format: Format
  readonly namespace: string
  readonly migrations: Migrations
  readonly defaults: object
}

/** Throws if the storage has a format that this context cannot migrate. */
export function expectOlder(
  { MAX_SHARDS, expectFormat, readMeta }: WriterTools,
  items: Items,
  { keys }: Layout,
  format: Format,
): void {
  const meta = readMeta(items, keys)
  const isOlder =
    !meta ||
    (meta.schemaVersion <= format.schemaVersion &&
      meta.shards <= MAX_SHARDS &&
      (meta.option === 'A' || (meta.option === 'B' && format.option === 'B')))
  if (!isOlder) expectFormat(items, keys, format)
}

/** What the head keys and the log contain. */
export interface OldData {
  readonly head: Items
  readonly logged: Items
  /** The data is removed afterwards, so it may be damaged. */
  readonly resets: boolean
}

/**
 * Migrates all stored data in one write, so that a crash leaves it either migrated or unchanged. The write replaces
 * what it migrates, so it needs no more space than its result. Call it under the lock.
 */
export async function migrate(
  tools: WriterTools,
  options: MigrateOptions & Writes,
  { head, logged, resets }: OldData,
): Promise<void> {
  const { DONE, isObject, createFold, createLayout, logOf, readKeys, readMeta } = tools
  const { storage, layout, format, namespace, migrations, defaults, set, remove } = options
  const { keys } = layout
  const log = logOf(storage)
  const meta = readMeta(head, keys) ?? { ...format, schemaVersion: 1, revision: 0 }
  const hasOneKey = isObject(head[keys.all])
  const sources = (meta.option === 'B' && hasOneKey ? [meta, { ...meta, option: 'A' }] : [meta]).map(
    ({ option, shards }) => createLayout({ namespace, option, shards, storage }),
  )
  const stored = new Map<string, unknown>()
  for (const source of sources) {
    const items = await readHead({ storage, layout: source })
    const ids = resets ? (source.ids(items) ?? []) : expectIds(tools, source, items)
    const lookup = source.lookup({ ...items, ...(await readKeys(storage, source.entityKeys(ids))) })
    // If two sources have the same id, the earlier source is newer.
    for (const id of ids) if (!stored.has(id)) stored.set(id, lookup(id))
  }

  const { records } = readRecords(tools, logged, layout, meta)
  const done = records.map(([key]) => key)
  const folded = createFold({
    indexed: new Set(stored.keys()),
    revision: meta.revision,
    find: (id) => stored.get(id),
    settings: head[keys.settings],
    defaults,
  })
  for (const [, operations] of records) operations.forEach(folded.apply)
  const { removed, values, settings = head[keys.settings] } = folded
  const before = new Map([...stored].filter(([id]) => !removed.has(id)).concat([...values]))
  const state = upgrade(
    tools,
    { settings, entities: Object.fromEntries([...before].filter(([, entity]) => entity !== undefined)) },
    { from: meta.schemaVersion, to: format.schemaVersion, migrations },
  )
  // In an object, numbers come first.
  const ids = new Set([...before.keys(), ...Object.keys(state.entities)])
  const entries = [...ids].map((id) => [id, state.entities[id]] as [string, object])

  const { entities, index } = changeIndex(
    layout,
    {},
    [],
    entries.filter(([id, entity]) => Object.hasOwn(state.entities, id) && entity !== undefined),
  )
  const items: Items = {
    ...(!layout.inIndex && hasOneKey && { [keys.all]: {} }),
    ...entities,
    ...emptyIndex(layout),
    ...index,
    ...(state.settings !== undefined && { [keys.settings]: state.settings }),
    ...(log === storage && Object.fromEntries(done.map((key) => [key, DONE]))),
    [keys.meta]: { ...format, revision: meta.revision + 1 },
  }
  await set(items)
  const old = sources.flatMap((source) => [...source.indexKeys, ...source.entityKeys(stored.keys())])
  const stale = old.filter((key) => !(key in items) || (key === keys.all && !layout.inIndex))
  await remove(stale, done)
}

function upgrade(
  tools: WriterTools,
  state: StoredState,
  { from, to, migrations }: { readonly from: number; readonly to: number; readonly migrations: Migrations },
): StoredState {
  if (state.settings === undefined && Object.keys(state.entities).length === 0) return state
  const refuse: WriterTools['refuse'] = tools.refuse
  let upgraded = state
  for (let version = from + 1; version <= to; version++) {
    const next = migrations[version]?.(upgraded)
    if (!tools.isObject(next?.entities))
      refuse(`schema.migrations[${version}]`, 'a function that returns { settings, entities }', next)
    upgraded = next
  }
  return upgraded
}
