import { LeaseError } from '../core/index.ts'
import { type ChangeListener, createChanges } from './changes.ts'
import { expectId, expectWhole, invalid, jsonCopy } from './json.ts'
import { STORAGE_KEYS, SYNC_ACTIONS } from './keys.ts'
import { createLoad, headKeys } from './load.ts'
import { type Hint, readMessage } from './messages.ts'
import { needsMigration } from './migrate.ts'
import { assemble, type SyncBaseOptions } from './options.ts'
import { createReader, type Stale } from './reader.ts'
import { remoteWriter } from './remote-writer.ts'
import type { SyncSettings } from './settings.ts'
import { createView } from './view.ts'
import type { Written } from './writer.ts'

export interface SyncOptions<S extends object = SyncSettings> extends SyncBaseOptions<S> {
  /** `coordinator`: for a content script, whose locks are the host page's. Default `here`. */
  readonly writes?: 'here' | 'coordinator'
  /** How many entities are read at once. Default 1 000. */
  readonly batch?: number
}

export interface Sync<E extends object, S extends object = SyncSettings> extends AsyncDisposable {
  /** Reads all that is stored. Called by itself before the first write. Again after a failure. */
  bootstrap(): Promise<void>
  readonly isBootstrapped: boolean
  /** What is shown: changes of this context at once, those of others when they are stored. */
  get(id: string): E | undefined
  /** In the order of the index. The same array until something changes. */
  entries(): readonly (readonly [id: string, entity: E])[]
  readonly settings: S
  /** With an id, only what concerns this entity. Returns how to end it. */
  subscribe(listener: ChangeListener<E, S>, id?: string): () => void
  /** Each write resolves when it is stored; when that fails, what is shown goes back, and it rejects. */
  setEntity(id: string, entity: E): Promise<void>
  /** Many at once, for the price of one. */
  setEntities(entities: Iterable<readonly [id: string, entity: E]>): Promise<void>
  /** Sets these fields; `not-found` when there is no such entity. */
  patchEntity(id: string, fields: Partial<E>): Promise<void>
  removeEntity(...ids: readonly string[]): Promise<void>
  updateSettings(fields: Partial<S>): Promise<void>
  /** Removes all entities. Settings, and keys of others, stay. */
  reset(): Promise<void>
  /** Removes keys of entities that are not in the index, and resolves with their ids. */
  cleanupOrphans(): Promise<readonly string[]>
  /** Stops listening, and waits for the writes that are under way. */
  close(): Promise<void>
}

/**
 * Settings and entities that all contexts of an extension, or all tabs of an application, share.
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
  const { writes = 'here', batch = 1000 } = options
  const parts = assemble(options)
  const { storage, messenger, layout, format, defaults, clock, warn, closing } = parts
  expectWhole('batch', batch, 1, 1_000_000)
  if (writes !== 'here' && writes !== 'coordinator') throw invalid('writes', 'here or coordinator', writes)
  if (writes === 'coordinator' && !messenger)
    throw invalid('messenger', 'a Messenger to reach the coordinator', messenger)

  const changes = createChanges<E, S>()
  const view = createView<E, S>(defaults, (change) => {
    if (!closing.signal.aborted) changes.emit(change)
  })
  const load = createLoad({ storage, layout, format, view, defaults, batch, warn })
  const ids = () => view.entries().map(([id]) => id)
  const reader = createReader({ load, layout, ids, clock, warn })
  const writer =
    writes === 'coordinator' && messenger
      ? remoteWriter({ messenger, clock, closing: closing.signal })
      : parts.writer

  let closed = false
  let bootstrapped = false
  let bootstrapping: Promise<void> | undefined
  const pendingMessages: Hint[] = []
  /** Writes of this context, one after the other. */
  let queue: Promise<unknown> = Promise.resolve()

  // Before the first read, so that nothing is missed.
  const stops = [storage.subscribe(reader.onChanged), messenger?.subscribe(receive)]

  const sync: Sync<E, S> = {
    bootstrap,
    get isBootstrapped() {
      return bootstrapped
    },
    get: view.get,
    entries: view.entries,
    get settings() {
      return view.settings
    },
    subscribe: changes.subscribe,

    setEntity: (id, entity) => sync.setEntities([[id, entity]]),
    async setEntities(entities) {
      const entries = new Map<string, E>()
      if (!(Symbol.iterator in Object(entities)))
        throw invalid('entities', 'pairs of id and entity', entities)
      for (const [id, entity] of entities) {
        expectId(id)
        entries.set(id, jsonCopy(`entity ${id}`, entity))
      }
      const ids = [...entries.keys()]
      if (ids.length === 0) return
      const undo = view.edit(ids, (_stored, id) => entries.get(id))
      await write(undo, { ids }, async () => {
        const { indexChanged } = await writer.set([...entries], knownAt(ids))
        // Another may have added them a moment ago, unseen here.
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
      throw error
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
    if (closed) return Promise.reject(new LeaseError('closed', 'this sync was closed'))
    const done = queue.then(bootstrap).then(work)
    queue = done.catch(() => {})
    return done
  }

  /** The edits stay over what is read until a read that began after the write. */
  async function write(undo: () => void, touched: Stale, work: () => Promise<Written>): Promise<void> {
    try {
      const { indexChanged } = await inTurn(work)
      reader.stale({ ...touched, index: touched.index || indexChanged, afterwards: undo })
    } catch (error) {
      undo()
      reader.stale({ ...touched, index: true })
      throw error
    }
  }

  /** The revision of the index in which all of these ids were. */
  function knownAt(ids: readonly string[]): number | undefined {
    return ids.every(view.indexes) ? view.revision : undefined
  }

  function receive(message: unknown): unknown {
    const hint = readMessage(message)
    if (hint === null) warn('malformed-message', 'a message was passed over', message)
    if (!hint) return undefined
    if (bootstrapped) follow(hint)
    else pendingMessages.push(hint)
    return { action: SYNC_ACTIONS.ack }
  }

  /** A message is a hint, perhaps an old one: what counts is what is stored, of entities that are in the index. */
  function follow({ changed, removed, revision }: Hint): void {
    reader.stale({ ids: changed })
    if (removed.length > 0)
      reader.stale({ index: true, afterwards: () => removeLeftOvers(removed, revision) })
  }

  /** Without a lock, another's write may have brought back what was removed. */
  function removeLeftOvers(removed: readonly string[], revision: number | undefined): void {
    const left = removed.filter(view.indexes)
    if (left.length === 0) return
    inTurn(() => writer.remove(left, revision)).catch((error) =>
      warn('remove-failed', `${left.join(', ')} could not be removed from the index`, error),
    )
  }
}
