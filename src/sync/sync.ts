import { notify } from '../base/notify.ts'
import { createAppend } from './append.ts'
import { type ChangeListener, createChanges, type SyncStatus } from './changes.ts'
import { createLifecycle } from './lifecycle.ts'
import { loadWriting } from './load-writing.ts'
import { createLoading } from './loading.ts'
import { isSyncMessage } from './messages.ts'
import type { DefaultsOf, SyncOptions } from './options.ts'
import { assemble } from './parts.ts'
import { createReader } from './reader.ts'
import type { SyncSettings } from './settings.ts'
import { logOf } from './storage.ts'
import { createView, type SyncState } from './view.ts'
import { checkedEntity, createWrites } from './writes.ts'
import type { SyncMethods } from './writing.ts'

export interface Sync<E extends object, S extends object = SyncSettings> extends AsyncDisposable {
  /**
   * Reads all stored data. The first write calls it by itself. After a failure it can be called again.
   *
   * @throws `other-format`
   */
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
   * Each write leaves this context in the tick in which it is made, together with the other writes of that tick, and
   * survives the end of its page. It resolves when it is stored. If that fails, `state` goes back, and it rejects.
   *
   * @throws `other-format`
   */
  setEntity(id: string, entity: E): Promise<void>
  /**
   * Sets many entities with the same number of storage calls as one.
   *
   * @throws `other-format`
   */
  setEntities(entities: Iterable<readonly [id: string, entity: E]>): Promise<void>
  /**
   * Sets these fields, and removes those that are `undefined`. Rejects with `not-found` without the entity.
   *
   * @throws `not-found`, `other-format`
   */
  patchEntity(id: string, fields: { readonly [K in keyof E]?: E[K] | undefined }): Promise<void>
  /**
   * Reads the entity under the lock, and stores what `change` returns, so no write of another context is lost. In a
   * content script, `change` may be called more than once. It survives the end of its page only when it resolves.
   *
   * @throws `lease-held`, `other-format`
   */
  updateEntity(id: string, change: (entity: E | undefined) => E): Promise<void>
  /** @throws `other-format` */
  removeEntity(...ids: readonly string[]): Promise<void>
  /** @throws `other-format` */
  updateSettings(fields: { readonly [K in keyof S]?: S[K] | undefined }): Promise<void>
  /**
   * Removes all entities. Settings and foreign keys stay.
   *
   * @throws `other-format`
   */
  reset(): Promise<void>
  /**
   * Removes the keys of entities that are not in the index, and resolves with their ids.
   *
   * @throws `lease-held`, `other-format`
   */
  cleanupOrphans(): Promise<readonly string[]>
  /**
   * Repairs a damaged index: it names every entity that has a key, also one whose removal was interrupted. Not for
   * `one-key`, whose index contains the entities.
   *
   * @throws `lease-held`, `other-format`
   */
  rebuildIndex(): Promise<void>
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
  options: SyncOptions<E, S> & DefaultsOf<S>,
): Sync<E, S> {
  const parts = assemble<E, S>(options, loadWriting)
  const { storage, messenger, closing } = parts
  const log = logOf(storage)
  const changes = createChanges<E, S>()
  const view = createView<E, S>(
    parts.defaults,
    (news) => !closing.aborted && changes.emit(news),
    storage.log !== undefined,
  )
  const lifecycle = createLifecycle({
    ...parts,
    load: () => load(),
    // The extension may have been reloaded, and then even this may throw.
    unsubscribe() {
      for (const end of subscriptions) notify(end)
    },
    onStatus: (status) => changes.emit([{ type: 'status', status }]),
  })
  const own = { ...parts, ...lifecycle, view, methods }
  const reader = createReader(own)
  const append = createAppend(own)
  const context = { ...own, reader, append, checked: checkedEntity(parts.schemas.entity) }
  const { load, onChanged } = createLoading(context)

  // Subscribe before the first read, so that no change is missed.
  const subscriptions = [
    storage.subscribe(onChanged),
    log === storage ? undefined : log.subscribe(onChanged),
    messenger?.subscribe((message) => (isSyncMessage(message, parts.namespace) ? hear(message) : undefined)),
  ]

  return {
    ...createWrites(context),
    bootstrap: () => lifecycle.tracked(lifecycle.bootstrap),
    get status() {
      return lifecycle.status()
    },
    get isBootstrapped() {
      return lifecycle.isReady()
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
    close: lifecycle.close,
    [Symbol.asyncDispose]: lifecycle.close,
  }

  /** What is loaded on demand. */
  async function methods(): Promise<SyncMethods<E>> {
    return (await parts.writing()).methodsOf(context)
  }

  /** Without an answer if it cannot be loaded. The storage reports the change as well. */
  function hear(message: unknown): Promise<unknown> {
    return methods().then(
      ({ hear }) => hear(message),
      () => {},
    )
  }
}
