/**
 * Carries out the records of the log, under the lock. A new entity is stored before its id enters the index, and a
 * removed id leaves the index before its entity is removed: a writer that dies in between leaves at most an orphaned
 * key, and the records, which are carried out again.
 */
import { isObject } from '../base/arguments.ts'
import { asLeaseError, LeaseError } from '../base/errors.ts'
import { adopt, fold, type Records, readRecords } from './fold.ts'
import { expectFormat, type Format, readMeta, show } from './format.ts'
import type { Layout } from './layout.ts'
import type { SyncLocks } from './locks.ts'
import { DONE } from './log.ts'
import { type Migrations, migrate } from './migrate.ts'
import { type Items, logOf, type StorageAdapter } from './storage.ts'
import type { Warn } from './warnings.ts'

export type Update = (entity: object | undefined) => object | undefined

/** The operations that need the lock: in this context, or at the coordinator. */
export interface Writer {
  /** Migrates the stored data to the format of this context. */
  prepare(): Promise<void>
  /** Removes the keys of entities that are not in the index, of these ids or of all. Resolves with their ids. */
  cleanup(ids?: readonly string[]): Promise<readonly string[]>
  /** Reads the entity, and stores what `change` returns. If that is `undefined`, nothing is stored. */
  update(id: string, change: Update): Promise<void>
}

/** What became of the records that were carried out. */
export interface Outcome {
  readonly records: ReadonlySet<string>
  /** The new revision of the index, if it changed. */
  readonly revision?: number
  /** By place in the log: operations that could not be carried out. */
  readonly refused: ReadonlyMap<string, LeaseError>
  /** The ids that are not in the index any more. */
  readonly gone: ReadonlySet<string>
  /** By key: records that the storage refused. They stay in the log. */
  readonly failed?: ReadonlyMap<string, LeaseError>
}

const NOTHING: Outcome = { records: new Set(), refused: new Map(), gone: new Set() }

export interface StorageWriter extends Writer {
  /** Carries out all records that are in storage when the lock is free. */
  carryOut(): Promise<Outcome>
}

export interface StorageWriterOptions {
  readonly storage: StorageAdapter
  /** Without locks, two writers at the same time may undo each other's change of the index. */
  readonly locks: SyncLocks | undefined
  readonly layout: Layout
  readonly format: Format
  readonly namespace: string
  readonly migrations: Migrations
  readonly defaults: object
  /** The lock for every change of the index. */
  readonly lockName: string
  readonly warn: Warn
}

export function storageWriter(options: StorageWriterOptions): StorageWriter {
  const { storage, locks, layout, format, lockName, warn } = options
  const { keys, indexKeys } = layout
  const log = logOf(storage)
  const reported = new Set<string>()
  let waiting: Promise<Outcome> | undefined

  return {
    carryOut() {
      // Those who ask before the lock is free share one turn.
      waiting ??= takeTurn()
      return waiting
    },

    prepare: () => exclusively(() => migrate(options)),

    async update(id, change) {
      await exclusively(async () => carryOut(await readLog(), { id, change }))
    },

    cleanup: (ids) =>
      exclusively(async () => {
        await carryOutAll()
        const items = await storage.get([keys.meta, ...indexKeys])
        expectFormat(readMeta(items, keys), format)
        const indexed = indexedIds(items)
        // A missing index says nothing, and another device's index may come later than its entities.
        if (storage.shared || indexKeys.some((key) => !(key in items))) return []
        const candidates = ids ?? (await storage.keys()).flatMap((key) => layout.idOf(key) ?? [])
        const orphans = candidates.filter((id) => !indexed.has(id))
        await remove(storage, layout.entityKeys(orphans))
        return orphans
      }),
  }

  async function takeTurn(): Promise<Outcome> {
    // Without locks the work starts at once: let the caller note the turn first.
    await undefined
    try {
      return await exclusively(() => {
        waiting = undefined
        return carryOutAll()
      })
    } catch (error) {
      waiting = undefined
      throw error
    }
  }

  /** All records together. If that fails, one by one, so that a record that does not fit stops no other. */
  async function carryOutAll(): Promise<Outcome> {
    const records = await readLog()
    try {
      return await carryOut(records)
    } catch (error) {
      const { code, retryable } = asLeaseError(error)
      if (code !== 'store-failed' || retryable || records.keys.length < 2) throw error
    }
    const outcomes: Outcome[] = []
    const failed = new Map<string, LeaseError>()
    for (const key of records.keys) {
      const own = records.operations.filter(([place]) => place.startsWith(key))
      const outcome = await carryOut({ ...records, keys: [key], operations: own }).catch(asLeaseError)
      if (outcome instanceof LeaseError) failed.set(key, outcome)
      else outcomes.push(outcome)
    }
    const { revision } = outcomes.findLast((outcome) => outcome.revision) ?? {}
    return {
      records: new Set(outcomes.flatMap((outcome) => [...outcome.records])),
      refused: new Map(outcomes.flatMap((outcome) => [...outcome.refused])),
      // What is removed by one record may be added by the next: receivers learn it from the storage.
      gone: new Set(),
      failed,
      ...(revision && { revision }),
    }
  }

  async function exclusively<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await (locks ? locks.withLease(lockName, work) : work())
    } catch (error) {
      throw asLeaseError(error)
    }
  }

  async function carryOut(
    records: Records,
    update?: { readonly id: string; readonly change: Update },
  ): Promise<Outcome> {
    const { operations } = records
    if (records.keys.length === 0 && !update) return NOTHING
    const touched = [
      ...operations.flatMap(([, { patch }]) => patch?.[0] ?? []),
      ...(update ? [update.id] : []),
    ]
    const items = await readBase(layout.entityKeys(touched))
    const meta = readMeta(items, keys)
    expectFormat(meta, format)
    const resets = operations.some(([, { reset }]) => reset)
    // A reset repairs a damaged index.
    const indexed = resets ? new Set(layout.ids(items)) : indexedIds(items)
    const folded = fold(operations, {
      indexed,
      revision: meta?.revision ?? 0,
      find: layout.lookup(items),
      settings: items[keys.settings],
      defaults: options.defaults,
    })
    const { removed, values, settings, refused } = folded
    const updated = update?.change(folded.entity(update.id))
    if (update && updated) values.set(update.id, updated)

    const change = layout.change(items, removed, [...values])
    const indexChanged = resets || Object.keys(change.index).length > 0
    const revision = indexChanged ? (meta?.revision ?? 0) + 1 : undefined
    // A shard that is missing later is damaged, so all of them are written.
    const missing = Object.entries(layout.empty).filter(([key]) => resets || !(key in items))
    const index = { ...Object.fromEntries(missing), ...change.index }
    const result: Items = {
      ...(settings && { [keys.settings]: settings }),
      ...(revision && { ...index, [keys.meta]: { ...format, revision } }),
      // Together with their result, so that no record is carried out twice.
      ...(log === storage && Object.fromEntries(records.keys.map((key) => [key, DONE]))),
    }
    const added = layout.entityKeys([...values.keys()].filter((id) => !indexed.has(id)))
    await store(change.entities, result, added)
    const gone = new Set([...removed].filter((id) => !values.has(id)))
    const orphans = layout.entityKeys(gone)
    // If this fails, somebody else removes the keys later.
    if (log !== storage) await remove(log, records.keys).catch(() => {})
    await remove(storage, log === storage ? [...records.keys, ...orphans] : orphans).catch(() => {})
    return { records: new Set(records.keys), refused, gone, ...(revision && { revision }) }
  }

  async function readLog(): Promise<Records> {
    const found = (await log.keys()).filter((key) => key.startsWith(keys.logPrefix))
    const records = readRecords(found.length > 0 ? await log.get(found) : {}, keys.logPrefix, show(format))
    for (const key of records.ignored.filter((key) => !reported.has(key))) {
      reported.add(key)
      warn('malformed-record', `${key} is malformed or has another format; it is not carried out`)
    }
    return records
  }

  async function readBase(more: readonly string[]): Promise<Items> {
    const items = await storage.get([keys.meta, keys.settings, keys.all, ...indexKeys, ...more])
    return storage.shared ? adopt(items, await storage.keys(), layout) : items
  }

  /** Throws if the index is damaged: it is not a list, or it is missing although it was written once. */
  function indexedIds(items: Items): ReadonlySet<string> {
    const missing = isObject(items[keys.meta]) && indexKeys.some((key) => !(key in items))
    const ids = missing && !storage.shared ? null : layout.ids(items)
    if (ids) return new Set(ids)
    throw new LeaseError(
      'store-failed',
      `${indexKeys[0]} is damaged; reset() replaces it with an empty index`,
    )
  }

  /** First the new entities, then the index and everything else. */
  async function store(entities: Items, result: Items, added: readonly string[]): Promise<void> {
    const all = { ...entities, ...result }
    if (Object.keys(all).length === 0) return
    try {
      const fresh = Object.fromEntries(added.map((key) => [key, entities[key]]))
      if (added.length > 0) await storage.set(fresh)
      const rest = Object.entries(all).filter(([key]) => !(key in fresh))
      await storage.set(Object.fromEntries(rest))
    } catch (error) {
      if (added.length === 0) throw error
      // The storage is almost full: in one write, the entities take the place of their records.
      await storage.set(all).catch(async () => {
        await remove(storage, added).catch(() => {})
        throw error
      })
    }
  }
}

async function remove(storage: StorageAdapter, keys: readonly string[]): Promise<void> {
  if (keys.length > 0) await storage.remove(keys)
}
