/**
 * Carries out the records of the log, under the lock. A new entity is stored before its id enters the index, and a
 * removed id leaves the index before its entity is removed: a writer that dies in between leaves at most an orphaned
 * key, and the records, which are carried out again.
 */
import { asLeaseError, LeaseError } from '../base/errors.ts'
import { createFold, type Records, readHead, readRecords } from './fold.ts'
import { expectFormat, type Format, readMeta, show } from './format.ts'
import type { Layout } from './layout.ts'
import type { SyncLocks } from './locks.ts'
import { DONE, type Operation } from './log.ts'
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
  /**
   * By key of a record: `null` if it was carried out, or why the storage refused it. By place in the log: why an
   * operation could not be carried out.
   */
  readonly results: Map<string, LeaseError | null>
  /** The ids that are not in the index any more. */
  readonly gone: Set<string>
  /** The new revision of the index, if it changed. */
  revision?: number
}

export interface StorageWriter extends Writer {
  /**
   * Carries out all records that are in storage when the lock is free. `key`: a record that the caller has appended
   * before. With `unlogged`, it could not be appended, and these are its operations. Resolves when the result is stored.
   */
  carryOut(key?: string, unlogged?: readonly Operation[]): Promise<Outcome>
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

interface Work {
  /** Records that the callers have appended before. */
  readonly expected?: Iterable<string>
  /** Operations that are in no record. */
  readonly unlogged?: readonly Operation[]
  readonly update?: { readonly id: string; readonly change: Update }
  /** Called when the result is stored, and only removals are left to do. */
  readonly stored?: (outcome: Outcome) => void
}

const NO_LOCKS: SyncLocks = {
  async withLease(_resource, work) {
    await undefined
    return work()
  },
}

export function storageWriter(options: StorageWriterOptions): StorageWriter {
  const { storage, locks = NO_LOCKS, layout, format, lockName, warn } = options
  const { keys, indexKeys } = layout
  const log = logOf(storage)
  const reported = new Set<string>()
  /** The next turn. Those who ask before the lock is free share it. */
  let turn: { readonly outcome: Promise<Outcome>; readonly expected: Set<string> } | undefined

  return {
    carryOut(key, unlogged) {
      if (unlogged) return exclusively(() => carryOutAll({ unlogged }))
      turn ??= takeTurn()
      if (key) turn.expected.add(key)
      return turn.outcome
    },

    prepare: () => exclusively(() => migrate(options)),

    async update(id, change) {
      await exclusively(() => carryOutAll({ update: { id, change } }))
    },

    cleanup: (ids) =>
      exclusively(async () => {
        await carryOutAll({})
        const items = await readBase()
        const indexed = indexedIds(items)
        // A missing index says nothing, and another device's index may come later than its entities.
        if (storage.shared || indexKeys.some((key) => !(key in items))) return []
        const candidates = ids ?? (await storage.keys()).flatMap((key) => layout.idOf(key) ?? [])
        const orphans = candidates.filter((id) => !indexed.has(id))
        await remove(storage, layout.entityKeys(orphans))
        return orphans
      }),
  }

  function takeTurn(): NonNullable<typeof turn> {
    const expected = new Set<string>()
    const outcome = new Promise<Outcome>((resolve, reject) => {
      exclusively(() => {
        turn = undefined
        return carryOutAll({ expected, stored: resolve })
      }).catch((error) => {
        turn = undefined
        reject(error)
      })
    })
    return { outcome, expected }
  }

  async function exclusively<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await locks.withLease(lockName, work)
    } catch (error) {
      throw asLeaseError(error)
    }
  }

  /** All records together. If that fails, one by one, so that a record that does not fit stops no other. */
  async function carryOutAll({ expected = [], unlogged = [], update, stored }: Work): Promise<Outcome> {
    const { records, base } = await readStored([...expected])
    const operations = [...records.operations, ...unlogged.map((operation) => ['', operation] as const)]
    const outcome: Outcome = { results: new Map(), gone: new Set() }
    try {
      await carryOut({ ...records, operations }, outcome, base, update)
    } catch (error) {
      const { code, retryable } = asLeaseError(error)
      const alone = records.keys.length < 2 || unlogged.length > 0 || update
      if (alone || code !== 'store-failed' || retryable) throw error
      for (const key of records.keys) {
        const own = records.operations.filter(([place]) => place.startsWith(key))
        await carryOut({ keys: [key], operations: own }, outcome, await readBase()).catch((error) =>
          outcome.results.set(key, asLeaseError(error)),
        )
      }
    }
    const done = records.keys.filter((key) => outcome.results.get(key) === null)
    const orphans = layout.entityKeys(outcome.gone)
    // If this fails, somebody else removes the keys later.
    const removed = Promise.allSettled(
      log === storage ? [remove(log, [...done, ...orphans])] : [remove(log, done), remove(storage, orphans)],
    )
    stored?.(outcome)
    await removed
    return outcome
  }

  async function carryOut(
    { keys: recordKeys, operations }: Records,
    outcome: Outcome,
    base: Items,
    update?: Work['update'],
  ): Promise<void> {
    const touched = operations.flatMap(([, { patch }]) => patch?.[0] ?? []).concat(update?.id ?? [])
    const items = touched.length > 0 ? { ...base, ...(await storage.get(layout.entityKeys(touched))) } : base
    const resets = operations.some(([, { reset }]) => reset)
    // A reset repairs a damaged index.
    const indexed = resets ? new Set(layout.ids(items)) : indexedIds(items)
    const before = readMeta(items, keys)?.revision ?? 0
    const folded = createFold({
      indexed,
      revision: before,
      find: layout.lookup(items),
      settings: items[keys.settings],
      defaults: options.defaults,
    })
    operations.forEach(folded.apply)
    const { removed, values, settings, refused } = folded
    const updated = update?.change(folded.entity(update.id))
    if (update && updated) values.set(update.id, updated)

    const { entities, index } = layout.change(items, removed, [...values])
    const indexChanged = resets || Object.keys(index).length > 0
    // A shard that is missing later is damaged, so all of them are written.
    const missing = Object.entries(layout.empty).filter(([key]) => resets || !(key in items))
    const result: Items = {
      ...(settings && { [keys.settings]: settings }),
      ...(indexChanged && {
        ...Object.fromEntries(missing),
        ...index,
        [keys.meta]: { ...format, revision: before + 1 },
      }),
      // Together with their result, so that no record is carried out twice.
      ...(log === storage && Object.fromEntries(recordKeys.map((key) => [key, DONE]))),
    }
    const added = layout.entityKeys([...values.keys()].filter((id) => !indexed.has(id)))
    await store(entities, result, added)
    if (indexChanged) outcome.revision = before + 1
    for (const id of removed) outcome.gone.add(id)
    for (const id of values.keys()) outcome.gone.delete(id)
    for (const key of recordKeys) outcome.results.set(key, null)
    for (const [place, error] of refused) outcome.results.set(place, error)
  }

  /** `expected`: records that are probably there. They are read while the others are listed. */
  async function readStored(expected: readonly string[]) {
    const [listed, base, logged] = await Promise.all([
      log.keys(),
      readBase(log === storage ? expected : []),
      log === storage || expected.length === 0 ? {} : log.get(expected),
    ])
    const others = listed.filter((key) => key.startsWith(keys.logPrefix) && !expected.includes(key))
    const items = { ...base, ...logged, ...(others.length > 0 && (await log.get(others))) }
    const { ignored, ...records } = readRecords(items, keys.logPrefix, show(format))
    for (const key of ignored.filter((key) => !reported.has(key))) {
      reported.add(key)
      warn('malformed-record', `${key} is malformed or has another format; it is not carried out`)
    }
    return { records, base }
  }

  async function readBase(more: readonly string[] = []): Promise<Items> {
    const items = await readHead(options, [...layout.headKeys, ...more])
    expectFormat(readMeta(items, keys), format)
    return items
  }

  function indexedIds(items: Items): ReadonlySet<string> {
    const ids = layout.ids(items)
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
