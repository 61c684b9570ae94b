import { expectFunction, refuse } from '../base/arguments.ts'
import { asLeaseError, LeaseError } from '../base/errors.ts'
import { notify } from '../base/notify.ts'
import { COORDINATOR_MS, createAppend } from './append.ts'
import { type ChangeListener, createChanges, type SyncStatus } from './changes.ts'
import { readHead, storedIds } from './fold.ts'
import { expectFormat, needsMigration } from './format.ts'
import { createHints } from './hints.ts'
import { expectId, type FieldChanges, fieldChanges, isDeepEqual, jsonCopy, withChanges } from './json.ts'
import { loadWriter } from './load-writer.ts'
import type { Operation } from './log.ts'
import { messageAbout } from './messages.ts'
import { assemble, type DefaultsOf, type SyncOptions } from './options.ts'
import { createReader } from './reader.ts'
import { createSchedule } from './schedule.ts'
import { type SyncSettings, settingsAfter } from './settings.ts'
import { logOf, type StorageListener } from './storage.ts'
import { conform } from './validate.ts'
import { createView, type SyncState } from './view.ts'

export interface Sync<E extends object, S extends object = SyncSettings> extends AsyncDisposable {
  /** Reads all stored data. The first write calls it by itself. After a failure it can be called again. */
  bootstrap(): Promise<void>
  readonly status: SyncStatus
  readonly isBootstrapped: boolean
  /** The number of writes of all contexts that are shown and safe, but not yet in their place in the storage. */
  readonly waiting: number
  /**
   * The shown entities and settings. They include the writes of this context at once, and the writes of others when
   * they are stored. Do not change the objects.
   */
  readonly state: SyncState<E, S>
  /** One entity of `state`. Its cost does not depend on the number of entities. */
  get(id: string): E | undefined
  /** The settings of `state`. Their cost does not depend on the number of entities. */
  readonly settings: S
  /** Reports every change of `state`; with an id, only changes of this entity. Returns a function that ends it. */
  subscribe(listener: ChangeListener<E, S>, id?: string): () => void
  /**
   * Each write leaves this context in the turn in which it is made, together with the other writes of that turn, and
   * survives the end of its page. It resolves when it is stored. If that fails, `state` goes back, and it rejects.
   */
  setEntity(id: string, entity: E): Promise<void>
  /** Sets many entities with the same number of storage calls as one. */
  setEntities(entities: Iterable<readonly [id: string, entity: E]>): Promise<void>
  /** Sets these fields, and removes those that are `undefined`. Rejects with `not-found` without the entity. */
  patchEntity(id: string, fields: { readonly [K in keyof E]?: E[K] | undefined }): Promise<void>
  /**
   * Reads the entity under the lock, and stores what `change` returns, so no write of another context is lost. In a
   * content script, `change` may be called more than once. It survives the end of its page only when it resolves.
   */
  updateEntity(id: string, change: (entity: E | undefined) => E): Promise<void>
  removeEntity(...ids: readonly string[]): Promise<void>
  updateSettings(fields: { readonly [K in keyof S]?: S[K] | undefined }): Promise<void>
  /** Removes all entities. Settings and foreign keys stay. */
  reset(): Promise<void>
  /** Removes the keys of entities that are not in the index, and resolves with their ids. */
  cleanupOrphans(): Promise<readonly string[]>
  /**
   * Repairs a damaged index: it names every entity that has a key, also one whose removal was interrupted. Not for
   * option A, whose index contains the entities.
   */
  rebuildIndex(): Promise<void>
  /** Stops listening, and waits for unfinished writes. */
  close(): Promise<void>
}

/** Stores entities and settings in one write, after all of them were checked. For `importCollection`. */
export const REPLACE: unique symbol = Symbol('replace')

export interface Replacing {
  [REPLACE](entities: Iterable<unknown>, settings: object, reset: boolean): Promise<void>
}

/**
 * Shares settings and entities between all contexts of an extension, or all tabs of an application.
 *
 * @example
 * const sync = createSync<Item>(chromeContext())
 * sync.subscribe((change) => draw(change))
 * await sync.bootstrap()
 * await sync.setEntity('milk', { checked: true })
 */
export function createSync<E extends object, S extends object = SyncSettings>(
  options: SyncOptions<E, S> & DefaultsOf<S>,
): Sync<E, S> {
  const parts = assemble<E, S>(options, loadWriter)
  const { storage, messenger, layout, format, schemas, defaults, clock, warn, closing, announce } = parts
  const { keys } = layout

  const changes = createChanges<E, S>()
  const view = createView<E, S>(
    defaults,
    (news) => !closing.signal.aborted && changes.emit(news),
    storage.log !== undefined,
  )
  const reader = createReader({ ...parts, view, invalidated })
  // Without locks of the extension, records are left to others.
  const writer = options.writes === 'coordinator' ? undefined : parts.writer
  const schedule = createSchedule(writer?.carryOut, clock, warn)
  const append = createAppend({
    ...parts,
    view,
    bootstrap,
    isReady: () => status === 'ready',
    writer,
    schedule,
    read: reader.read,
  })
  const log = logOf(storage)

  let status: SyncStatus = 'loading'
  let closed: Promise<void> | undefined
  let bootstrapping: Promise<void> | undefined
  const unfinished = new Set<Promise<unknown>>()

  // Subscribe before the first read, so that no change is missed.
  const stops = [
    storage.subscribe(onChanged),
    log === storage ? undefined : log.subscribe(onLogChanged),
    messenger?.subscribe(createHints({ ...parts, view, reader, write })),
  ]

  const sync: Sync<E, S> & Replacing = {
    bootstrap: () => tracked(bootstrap),
    get status() {
      return status
    },
    get isBootstrapped() {
      return status === 'ready'
    },
    get waiting() {
      return view.waiting
    },
    get state() {
      return view.state
    },
    get: view.get,
    get settings() {
      return view.settings
    },
    subscribe: changes.subscribe,

    setEntity: (id, entity) => sync.setEntities([[id, entity]]),
    async setEntities(entities) {
      const delta = checkedDelta(entities)
      if (delta.length > 0) await write({ delta })
    },
    async patchEntity(id, fields) {
      expectId(id)
      const changes = fieldChanges(`fields of ${id}`, fields)
      const entity = view.get(id)
      if (entity) conform(`entity ${id}`, withChanges(entity, changes), schemas.entity)
      await write({ id, patch: changes })
    },
    async updateEntity(id, change) {
      expectId(id)
      expectFunction('change', change)
      let thrown: { readonly error: unknown } | undefined
      const guarded = (entity: E | undefined) => {
        try {
          return change(entity)
        } catch (error) {
          thrown = { error }
          throw error
        }
      }
      await tracked(() => update(id, guarded)).catch((error) => {
        // The caller's own error, as it was thrown.
        throw thrown ? thrown.error : error
      })
    },
    async removeEntity(...ids) {
      ids.forEach(expectId)
      if (ids.length > 0) await write({ delta: [...new Set(ids)].map((id) => [id, null]) })
    },
    async updateSettings(fields) {
      await write({ settings: checkedSettings(fields) })
    },
    reset: () => write({ reset: true }),
    cleanupOrphans: () =>
      tracked(async () => {
        await bootstrap()
        const orphans = (await storedIds(parts)).filter((id) => !view.indexes(id))
        const { gone } = await append.perform({ orphans })
        return orphans.filter((id) => gone.has(id))
      }),
    rebuildIndex: () =>
      tracked(async () => {
        await bootstrap()
        await append.perform({ rebuild: true })
        await reader.read(layout.indexKeys)
      }),
    close: () => (closed ??= close()),
    [Symbol.asyncDispose]: () => sync.close(),
    async [REPLACE](entities, fields, reset) {
      await write({
        ...(reset && { reset }),
        delta: checkedDelta(entities),
        settings: checkedSettings(fields),
      })
    },
  }
  return sync

  async function close(): Promise<void> {
    await Promise.allSettled(unfinished)
    if (status === 'invalidated') return
    await schedule.finish()
    stop('closed')
  }

  function bootstrap(): Promise<void> {
    bootstrapping ??= loadAll().catch((error) => {
      bootstrapping = undefined
      throw failed(error)
    })
    return bootstrapping
  }

  async function loadAll(): Promise<void> {
    let head = await readHead(parts)
    if (needsMigration(head, layout, format)) {
      await (writer?.carryOut() ?? append.perform({}, COORDINATOR_MS).catch(() => {}))
      head = await readHead(parts)
      expectFormat(head, keys, format)
    }
    // The log is listed while the entities are read. What was carried out in between is reported as a change.
    await Promise.all([reader.readAll(head), readLog()])
    if (status === 'loading') setStatus('ready')
  }

  /** Shows the records of the log, and has them carried out. */
  async function readLog(): Promise<void> {
    const records = (await log.keys()).filter(layout.isRecord)
    await reader.read(records)
    if (records.length > 0) schedule.soon()
  }

  async function write(operation: Operation): Promise<void> {
    await tracked(() => append.write(operation))
  }

  /** `close` waits for the work. */
  async function tracked<T>(work: () => Promise<T>): Promise<T> {
    if (closed || status === 'invalidated')
      throw new LeaseError('closed', `this sync is ${closed ? 'closed' : status}`)
    const done = work()
    unfinished.add(done)
    try {
      return await done
    } catch (error) {
      throw failed(error)
    } finally {
      unfinished.delete(done)
    }
  }

  async function update(id: string, change: (entity: E | undefined) => E): Promise<void> {
    const earlier = [...unfinished]
    await bootstrap()
    await Promise.allSettled(earlier)
    const next = (entity: object | undefined) => checked(id, change(entity as E | undefined))
    let hasChanged: boolean
    do {
      const entity = view.get(id)
      const operation: Operation = writer
        ? { id, update: next }
        : { id, swap: [entity ?? null, next(entity)] }
      hasChanged = await append.perform(operation).then(
        () => false,
        (error) => {
          if (writer || error.code !== 'conflict') throw error
          return true
        },
      )
      await reader.read(view.indexes(id) ? reader.keysOf([id]) : layout.indexKeys)
    } while (hasChanged)
    const stored = view.get(id)
    if (stored) announce(messageAbout([[id, stored]]))
  }

  function checkedDelta(entities: Iterable<unknown>): [id: string, entity: E][] {
    if (typeof Object(entities)[Symbol.iterator] !== 'function')
      refuse('entities', 'pairs of id and entity', entities)
    const delta = new Map<string, E>()
    for (const pair of entities) {
      if (!Array.isArray(pair)) refuse('entities', 'pairs of id and entity', pair)
      const [id, entity] = pair
      expectId(id)
      delta.set(id, checked(id, entity))
    }
    return [...delta]
  }

  function checkedSettings(fields: object): FieldChanges {
    const changes = fieldChanges('settings', fields)
    if (sync.isBootstrapped)
      conform('settings', settingsAfter(view.settings, changes, defaults), schemas.settings)
    return changes
  }

  /** As it is stored: after the transformations of the schema, which it goes through again when it is read. */
  function checked(id: string, entity: unknown): E {
    const name = `entity ${id}`
    const input = jsonCopy(name, entity as E)
    if (!schemas.entity) return input
    const result = jsonCopy(name, conform(name, input, schemas.entity))
    if (!isDeepEqual(conform(name, result, schemas.entity), result))
      refuse('validate', 'a schema that leaves its own result as it is', schemas.entity)
    return result
  }

  function failed(error: unknown): LeaseError {
    const failure = asLeaseError(error)
    if (failure.code === 'closed') invalidated(failure)
    return failure
  }

  function invalidated(error: unknown): void {
    if (closed || status === 'invalidated') return
    stop('invalidated')
    warn('invalidated', asLeaseError(error).message, error)
  }

  function stop(end: SyncStatus): void {
    // The extension may have been reloaded, and then even this may throw.
    for (const stop of stops) notify(stop)
    schedule.cancel()
    setStatus(end)
    closing.abort()
  }

  function setStatus(next: SyncStatus): void {
    status = next
    changes.emit([{ type: 'status', status }])
  }

  /** The storage of the log may have other keys that look like ours. */
  function onLogChanged(changes: Parameters<StorageListener>[0]): void {
    const records = Object.entries(changes ?? {}).filter(([key]) => layout.isRecord(key))
    if (!changes || records.length > 0) onChanged(changes && Object.fromEntries(records))
  }

  function onChanged(changes: Parameters<StorageListener>[0]): void {
    append.onChanged(changes)
    reader.onChanged(changes)
    // Anything may have happened, also writes of pages that are closed now.
    if (!changes) readLog().catch(failed)
  }
}
