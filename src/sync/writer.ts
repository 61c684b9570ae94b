/**
 * Writes to the storage, under the lock. A new entity is stored before its id enters the index, and a removed id
 * leaves the index before its entity is removed: a writer that dies in between leaves at most an orphaned key.
 */
import { isObject } from '../base/arguments.ts'
import { asLeaseError, LeaseError } from '../base/errors.ts'
import { type Format, fits, type Migrations, migrate, nextMeta, otherFormat, readMeta } from './format.ts'
import { type EntityEntries, type Layout, STORAGE_KEYS } from './layout.ts'
import type { SyncLocks } from './locks.ts'
import { deltaMessage, patchMessage, type SyncMessage } from './messages.ts'
import { expectSettings } from './settings.ts'
import type { StorageAdapter } from './storage.ts'

/** The result of a write. It is sent in messages as it is. */
export interface Written {
  /** Whether ids were added to the index or removed from it. */
  readonly indexChanged: boolean
}

/** Carries out operations on the storage: in this context, or at the coordinator. Each operation may run twice. */
export interface Writer {
  /** Migrates the stored data to the format of this context. */
  prepare(): Promise<Written>
  /** `knownAt`: the revision of the index in which the caller saw all of these ids. */
  set(entries: EntityEntries, knownAt?: number): Promise<Written>
  /** Sets fields of an entity. Rejects with `not-found` if the entity does not exist. */
  patch(id: string, fields: object, knownAt?: number): Promise<Written>
  /** `seenAt`: removes nothing if the index has changed since this revision. */
  remove(ids: readonly string[], seenAt?: number): Promise<Written>
  reset(): Promise<Written>
  updateSettings(fields: object): Promise<Written>
  /** Removes the keys of entities that are not in the index, of these ids or of all. Resolves with their ids. */
  cleanup(ids?: readonly string[]): Promise<readonly string[]>
}

export interface StorageWriterOptions {
  readonly storage: StorageAdapter
  /** Without locks, two writers at the same time may undo each other's change of the index. */
  readonly locks: SyncLocks | undefined
  readonly layout: Layout
  readonly format: Format
  readonly migrations: Migrations
  readonly defaults: object
  /** Called when the write is in storage. */
  readonly announce: (message: SyncMessage) => void
}

/** The lock for every change of the index. */
export const LOCK_NAME = 'holdfast:trackedEntities'

const UNCHANGED: Written = { indexChanged: false }
const CHANGED: Written = { indexChanged: true }

export function storageWriter(options: StorageWriterOptions): Writer {
  const { storage, locks, layout, format, announce } = options

  return {
    prepare: () => exclusively(async () => ((await migrate(options)) ? CHANGED : UNCHANGED)),

    async set(entries, knownAt) {
      const revision = await exclusively(() => setEntities(entries, knownAt))
      announce(deltaMessage(entries, revision))
      return revision === undefined ? UNCHANGED : CHANGED
    },

    async patch(id, fields, knownAt) {
      const entity = await exclusively(() => patchEntity(id, fields, knownAt))
      announce(deltaMessage([[id, entity]]))
      return UNCHANGED
    },

    async remove(ids, seenAt) {
      const revision = await exclusively(() => removeEntities(ids, seenAt))
      if (revision === undefined) return UNCHANGED
      announce(
        ids.length > 1
          ? patchMessage(ids, revision)
          : deltaMessage(
              ids.map((id) => [id, null]),
              revision,
            ),
      )
      return CHANGED
    },

    reset: () =>
      exclusively(async () => {
        const { items, meta } = await readFitting(layout.indexKeys)
        await storage.set({ ...layout.empty, ...nextMeta(meta) })
        await removeOrphans(layout.ids(items) ?? [])
        return CHANGED
      }),

    updateSettings: (fields) =>
      exclusively(async () => {
        const stored = (await readFitting([STORAGE_KEYS.settings])).items[STORAGE_KEYS.settings]
        const settings = { ...options.defaults, ...(isObject(stored) && stored), ...fields }
        expectSettings(settings)
        await storage.set({ [STORAGE_KEYS.settings]: settings })
        return UNCHANGED
      }),

    cleanup: (ids) =>
      exclusively(async () => {
        const indexed = new Set((await readIndex(layout.indexKeys)).ids)
        const candidates = ids ?? (await storage.keys()).flatMap((key) => layout.subject(key)?.id ?? [])
        const orphans = candidates.filter((id) => !indexed.has(id))
        if (orphans.length > 0) await storage.remove(layout.entityKeys(orphans))
        return orphans
      }),
  }

  async function exclusively<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await (locks ? locks.withLease(LOCK_NAME, work) : work())
    } catch (error) {
      throw asLeaseError(error)
    }
  }

  async function readFitting(keys: readonly string[]) {
    const items = await storage.get([STORAGE_KEYS.meta, ...keys])
    const meta = readMeta(items)
    if (!fits(meta, format)) throw otherFormat(meta, format)
    return { items, meta }
  }

  async function readIndex(keys: readonly string[]) {
    const read = await readFitting(keys)
    const ids = layout.ids(read.items)
    if (ids) return { ...read, ids }
    throw new LeaseError(
      'store-failed',
      `${layout.indexKeys[0]} is damaged; reset() replaces it with an empty index`,
    )
  }

  /** Resolves with the new revision, or with `undefined` if no id was added. */
  async function setEntities(entries: EntityEntries, knownAt: number | undefined) {
    const ids = entries.map(([id]) => id)
    const entityKeys = layout.entityKeys(ids)
    // The index has not changed since the caller saw the ids in it, so it need not be read.
    if (knownAt !== undefined && entityKeys.length > 0 && (await readFitting([])).meta.revision === knownAt) {
      await storage.set(layout.add({}, entries).entities)
      return undefined
    }
    const { items, meta, ids: indexed } = await readIndex(layout.indexKeysOf(ids))
    const { entities, index } = layout.add(items, entries)
    if (entityKeys.length > 0) await storage.set(entities)
    if (Object.keys(index).length === 0) return undefined
    const next = nextMeta(meta)
    try {
      await storage.set({ ...index, ...next })
    } catch (error) {
      const before = new Set(indexed)
      await removeOrphans(ids.filter((id) => !before.has(id)))
      throw error
    }
    return next[STORAGE_KEYS.meta].revision
  }

  async function patchEntity(id: string, fields: object, knownAt: number | undefined): Promise<object> {
    const keys = layout.entityKeys([id])
    const near = keys.length > 0 ? await readFitting(keys) : undefined
    const indexed = near?.meta.revision === knownAt
    const { items, ids } =
      near && indexed
        ? { items: near.items, ids: [id] }
        : await readIndex([...layout.indexKeysOf([id]), ...keys])
    const stored = layout.lookup(items)(id)
    if (!ids.includes(id) || !isObject(stored))
      throw new LeaseError('not-found', `entity ${id} does not exist`, { resource: id })
    const patched = { ...stored, ...fields }
    const { entities, index } = layout.add(items, [[id, patched]])
    await storage.set(keys.length > 0 ? entities : index)
    return patched
  }

  /** Resolves with the new revision, or with `undefined` if nothing was removed. */
  async function removeEntities(ids: readonly string[], seenAt: number | undefined) {
    const { items, meta } = await readIndex(layout.indexKeysOf(ids))
    if (seenAt !== undefined && meta.revision > seenAt) return undefined
    const index = layout.drop(items, ids)
    if (Object.keys(index).length === 0) return undefined
    const next = nextMeta(meta)
    await storage.set({ ...index, ...next })
    await removeOrphans(ids)
    return next[STORAGE_KEYS.meta].revision
  }

  /** The ids are not in the index any more. If this fails, the next clean-up removes the keys. */
  async function removeOrphans(ids: readonly string[]): Promise<void> {
    const keys = layout.entityKeys(ids)
    if (keys.length > 0) await storage.remove(keys).catch(() => {})
  }
}
