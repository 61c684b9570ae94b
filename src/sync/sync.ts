import { expectOneOf, expectWhole, refuse } from '../base/arguments.ts'
import { asLeaseError, LeaseError } from '../base/errors.ts'
import { type ChangeListener, createChanges } from './changes.ts'
import { needsMigration } from './format.ts'
import { expectId, jsonCopy } from './json.ts'
import { STORAGE_KEYS } from './layout.ts'
import { createLoad, headKeys } from './load.ts'
import { type Hint, readMessage, SYNC_ACTIONS } from './messages.ts'
import { assemble, type SyncBaseOptions } from './options.ts'
import { createReader, type Stale } from './reader.ts'
import { remoteWriter } from './remote-writer.ts'
import type { SyncSettings } from './settings.ts'
import { createView, type SyncState } from './view.ts'
import type { Written } from './writer.ts'

export interface SyncOptions<S extends object = SyncSettings> extends SyncBaseOptions<S> {
  /** `coordinator`: for a content script, whose locks belong to the host page. Default `here`. */
  readonly writes?: 'here' | 'coordinator'
  /** The number of entities in one read. Default 1 000. */
  readonly batch?: number
}

export interface Sync<E extends object, S extends object = SyncSettings> extends AsyncDisposable {
  /** Reads all stored data. The first write calls it by itself. After a failure it can be called again. */
  bootstrap(): Promise<void>
  readonly isBootstrapped: boolean
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
  /** @deprecated Use `state.entries`. */
  entries(): SyncState<E, S>['entries']
  /** Each write resolves when it is stored. If that fails, `state` goes back, and the write rejects. */
  setEntity(id: string, entity: E): Promise<void>
  /** Sets many entities with the same number of storage calls as one. */
  setEntities(entities: Iterable<readonly [id: string, entity: E]>): Promise<void>
  /** Sets these fields. Rejects with `not-found` if the entity does not exist. */
  patchEntity(id: string, fields: Partial<E>): Promise<void>
  removeEntity(...ids: readonly string[]): Promise<void>
  updateSettings(fields: Partial<S>): Promise<void>
  /** Removes all entities. Settings and foreign keys stay. */
  reset(): Promise<void>
  /** Removes the keys of entities that are not in the index, and resolves with their ids. */
  cleanupOrphans(): Promise<readonly string[]>
  /** Stops listening, and waits for unfinished writes. */
  close(): Promise<void>
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
  options: SyncOptions<S>,
): Sync<E, S> {
  const parts = assemble(options)
  const { writes = 'here', batch = 1000 } = options
  const { storage, messenger, layout, format, defaults, clock, warn, closing } = parts
  expectWhole('batch', batch, 1, 1_000_000)
  expectOneOf('writes', writes, ['here', 'coordinator'])
  if (writes === 'coordinator' && !messenger)
    refuse('messenger', 'a Messenger to reach the coordinator', messenger)

  const changes = createChanges<E, S>()
  const view = createView<E, S>(defaults, (change) => {
    if (!closing.signal.aborted) changes.emit(change)
  })
  const load = createLoad({ storage, layout, format, view, defaults, batch, warn })
  const ids = () => view.state.entries.map(([id]) => id)
  const reader = createReader({ load, layout, ids, clock, warn })
  const writer =
    writes === 'coordinator' && messenger
      ? remoteWriter({ messenger, clock, closing: closing.signal })
      : parts.writer

  let closed = false
  let bootstrapped = false
  let bootstrapping: Promise<void> | undefined
  const pendingMessages: Hint[] = []
  /** The writes of this context run one after the other. */
  let queue: Promise<unknown> = Promise.resolve()

  // Subscribe before the first read, so that no change is missed.
  const stops = [storage.subscribe(reader.onChanged), messenger?.subscribe(receive)]

  const sync: Sync<E, S> = {
    bootstrap,
    get isBootstrapped() {
      return bootstrapped
    },
    get state() {
      return view.state
    },
    get: view.get,
    get settings() {
      return view.settings
    },
    subscribe: changes.subscribe,
    entries: () => view.state.entries,

    setEntity: (id, entity) => sync.setEntities([[id, entity]]),
    async setEntities(entities) {
      if (typeof Object(entities)[Symbol.iterator] !== 'function')
        refuse('entities', 'pairs of id and entity', entities)
      const entries = new Map<string, E>()
      for (const pair of entities) {
        if (!Array.isArray(pair)) refuse('entities', 'pairs of id and entity', pair)
        const [id, entity] = pair
        expectId(id)
        entries.set(id, jsonCopy(`entity ${id}`, entity))
      }
      const ids = [...entries.keys()]
      if (ids.length === 0) return
      const undo = view.edit(ids, (_stored, id) => entries.get(id))
      await write(undo, { ids }, async () => {
        const { indexChanged } = await writer.set([...entries], knownAt(ids))
        // Another context may have just added them, and this one has not read that yet.
        return { indexChanged: indexChanged || !ids.every(view.indexes) }
      })
    },
    async patchEntity(id, fields) {
      expectId(id)
      const copy = jsonCopy(`fields of ${id}`, fields)
      const undo = view.edit([id], (entity) => entity && { ...entity, ...copy })
      await write(undo, { ids: [id] }, () => writer.patch(id, copy, knownAt([id])))
    },
    async removeEntity(...ids) {
      ids.forEach(expectId)
      if (ids.length === 0) return
      await write(
        view.edit(ids, () => undefined),
        { index: true },
        () => writer.remove(ids),
      )
    },
    async updateSettings(fields) {
      const copy = jsonCopy('settings', fields)
      const undo = view.editSettings((settings) => ({ ...settings, ...copy }))
      await write(undo, { settings: true }, () => writer.updateSettings(copy))
    },
    async reset() {
      await write(view.clear(), { index: true }, () => writer.reset())
    },
    cleanupOrphans: () => inTurn(() => writer.cleanup()),
    async close() {
      closed = true
      for (const stop of stops) stop?.()
      await queue
      closing.abort()
      reader.close()
    },
    [Symbol.asyncDispose]: () => sync.close(),
  }
  return sync

  function bootstrap(): Promise<void> {
    bootstrapping ??= loadAll().catch((error) => {
      bootstrapping = undefined
      throw asLeaseError(error)
    })
    return bootstrapping
  }

  async function loadAll(): Promise<void> {
    const keys = headKeys({ settings: true, index: true }, layout)
    const head = await storage.get(layout.inIndex ? keys : [...keys, STORAGE_KEYS.all])
    const migrating = needsMigration(head, layout, format)
    if (migrating) await writer.prepare()
    await reader.readAll(migrating ? undefined : head)
    bootstrapped = true
    for (const hint of pendingMessages.splice(0)) follow(hint)
  }

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (closed) return Promise.reject(new LeaseError('closed', 'this sync is closed'))
    const done = queue.then(bootstrap).then(work)
    queue = done.catch(() => {})
    return done
  }

  /** The edit stays on top of the stored data until a read that began after the write. */
  async function write(undo: () => void, touched: Stale, work: () => Promise<Written>): Promise<void> {
    try {
      const { indexChanged } = await inTurn(work)
      reader.stale({ ...touched, index: touched.index || indexChanged, afterRead: undo })
    } catch (error) {
      undo()
      reader.stale({ ...touched, index: true })
      throw error
    }
  }

  /** The revision of the index, if it contains all of these ids. */
  function knownAt(ids: readonly string[]): number | undefined {
    return ids.every(view.indexes) ? view.revision : undefined
  }

  function receive(message: unknown): unknown {
    const hint = readMessage(message)
    if (hint === null) warn('malformed-message', 'a malformed message was ignored', message)
    if (!hint) return undefined
    if (bootstrapped) follow(hint)
    else pendingMessages.push(hint)
    return { action: SYNC_ACTIONS.ack }
  }

  /** A message is a hint and may be old: read the storage, which decides. */
  function follow({ changed, removed, revision }: Hint): void {
    reader.stale({ ids: changed })
    if (removed.length > 0) reader.stale({ index: true, afterRead: () => removeLeftOvers(removed, revision) })
  }

  /** Without a lock, another context's write may have put removed ids back into the index. */
  function removeLeftOvers(removed: readonly string[], revision: number | undefined): void {
    const left = removed.filter(view.indexes)
    if (left.length === 0) return
    inTurn(() => writer.remove(left, revision)).catch((error) =>
      warn('remove-failed', `could not remove ${left.join(', ')} from the index`, error),
    )
  }
}
