/**
 * Reads the storage into the view. Events and messages only name the keys to read. Reads run one after the other, so
 * the view never goes back to older data, even if an event comes late or twice.
 */

import { asLeaseError } from '../base/errors.ts'
import { backoffMs, pause } from '../base/pause.ts'
import { expectFormat, readMeta, show } from './format.ts'
import { DONE, idsIn, type Operation, readRecord } from './log.ts'
import type { Parts } from './parts.ts'
import { createRequestBatch } from './request-batch.ts'
import { usableSettings } from './settings.ts'
import { type Items, logOf, readKeys, type StorageListener } from './storage.ts'
import { conform } from './validate.ts'
import type { View, ViewUpdate } from './view.ts'
import type { SyncWarningCode } from './warnings.ts'

export interface ReaderOptions<E extends object, S extends object> extends Parts<E, S> {
  readonly view: View<E, S>
  /** The storage cannot be read any more. */
  readonly invalidated: (error: unknown) => void
}

export interface Reader {
  /** Reads everything, and rejects if that fails. Data that became stale meanwhile is read afterwards. */
  readAll(head: Items): Promise<void>
  /**
   * Reads these keys again, and what depends on them. Resolves when they are shown, or when the sync is closed. Before
   * the first `readAll` has succeeded, the request waits.
   */
  read(keys: Iterable<string>): Promise<void>
  /** The keys that contain these entities. */
  keysOf(ids: Iterable<string>): readonly string[]
  readonly onChanged: StorageListener
}

export function createReader<E extends object, S extends object>(options: ReaderOptions<E, S>): Reader {
  const { storage, layout, format, view, defaults, schemas, batch, clock, warn, closing } = options
  const { keys, indexKeys, isRecord } = layout
  const log = logOf(storage)
  let begin = () => {}
  /** The end of the last read. The first one is `readAll`. */
  let last = new Promise<void>((resolve) => {
    begin = resolve
  })
  let reading: ReadonlySet<string> = new Set()
  const read = createRequestBatch((take) => {
    last = last.then(() => {
      reading = take()
      return loadUntilDone(reading)
    })
    return last
  })

  return {
    async readAll(head) {
      await load(new Set([keys.settings, ...indexKeys]), head)
      begin()
    },
    read,
    keysOf,
    onChanged(changes) {
      const changed = changes
        ? Object.keys(changes).filter((key) => !isRecord(key) || mustRead(key, changes[key]?.newValue))
        : // Anything may have changed.
          [keys.settings, ...indexKeys, ...keysOf(view.state.entries.map(([id]) => id)), ...view.records]
      void read(changed)
    },
  }

  /** A record never changes until it is carried out. Then it is dropped from the view, once. */
  function mustRead(key: string, value: unknown): boolean {
    const known = view.operationsOf(key) !== undefined
    return readRecord(value) === DONE ? known || reading.has(key) : !known
  }

  function keysOf(ids: Iterable<string>): readonly string[] {
    return layout.inIndex ? indexKeys : layout.entityKeys(ids)
  }

  async function loadUntilDone(wanted: ReadonlySet<string>): Promise<void> {
    for (let tries = 1; !closing.aborted; tries++)
      try {
        return await load(new Set(wanted))
      } catch (error) {
        if (closing.aborted || asLeaseError(error).code === 'closed') return options.invalidated(error)
        if (tries === 1) warn('read-failed', 'the storage could not be read; the read is repeated', error)
        await pause(clock, backoffMs(clock, tries), { background: true })
      }
  }

  /** Reads what is wanted. `head`: the index and the settings, if the caller has already read them. */
  async function load(wanted: Set<string>, head?: Items): Promise<void> {
    const done = await loadRecords(wanted)
    const ids = new Set([...wanted].flatMap((key) => layout.idOf(key) ?? []))
    const readsIndex =
      indexKeys.some((key) => wanted.has(key)) || (storage.shared && ![...ids].every(view.indexes))
    const readsSettings = wanted.has(keys.settings)
    const headKeys = readsIndex ? layout.headKeys : readsSettings ? [keys.settings] : []
    const items = head ?? (await readKeys(storage, headKeys))
    const update: ViewUpdate<E, S> = {
      ...(readsSettings && settingsIn(items)),
      ...(readsIndex && indexIn(items, storage.shared ? await layout.storedIds() : [])),
    }
    view.apply(update)
    // New entities are reported in the order of the index.
    const mustLoad = (id: string) => layout.inIndex || ids.has(id) || !view.holds(id)
    await loadEntities(update.ids?.filter(mustLoad) ?? [...ids].filter(view.indexes), items)
    view.apply({ drop: done })
  }

  /** Returns the keys of records that were carried out. What they changed is read next, and is then in the storage. */
  async function loadRecords(wanted: Set<string>): Promise<readonly string[]> {
    let found = [...wanted].filter(isRecord)
    // One was carried out, and others with it. If they stayed on top, they would hide what the later ones have stored.
    if (found.some(view.operationsOf)) found = found.concat(view.records)
    const items = await readKeys(log, found)
    const add: (readonly [string, Operation])[] = []
    const done: string[] = []
    for (const key of found.sort()) {
      const record = readRecord(items[key])
      const known = view.operationsOf(key)
      if (record && record.format === show(format) && !known)
        add.push(...record.ops.map((operation) => [key, operation] as const))
      if (record !== DONE || !known) continue
      done.push(key)
      for (const operation of known) {
        if (operation.settings) wanted.add(keys.settings)
        for (const key of keysOf(idsIn(operation))) wanted.add(key)
        const changesIndex = operation.delta?.some(([id, entity]) => view.indexes(id) !== (entity !== null))
        if (operation.reset || changesIndex) for (const key of indexKeys) wanted.add(key)
      }
    }
    view.apply({ add })
    return done
  }

  function settingsIn(items: Items): ViewUpdate<E, S> {
    const { settings, problems } = usableSettings(items[keys.settings], defaults)
    const invalid = Object.entries(problems).map((problem) => problem.join(': '))
    if (invalid.length > 0) warn('malformed-settings', invalid.join(', '))
    const checked = usable('malformed-settings', () => conform('settings', settings, schemas.settings))
    return checked ? { settings: checked } : {}
  }

  /**
   * `found`: the entities that have a key, in a storage that several devices share. There an entity is in the index as
   * soon as its key exists: another device may have added it.
   */
  function indexIn(items: Items, found: readonly string[]): ViewUpdate<E, S> {
    const ids = usable('other-format', () => {
      expectFormat(items, keys, format)
      return layout.ids(items, found)
    })
    if (ids) return { ids, revision: readMeta(items, keys)?.revision ?? 0 }
    if (ids === null)
      warn('malformed-index', `${indexKeys[0]} is damaged; rebuildIndex() restores it from the entities`)
    return {}
  }

  /** What was read, or a warning and `undefined` if it cannot be used. */
  function usable<T>(code: SyncWarningCode, read: () => T): T | undefined {
    try {
      return read()
    } catch (error) {
      warn(code, asLeaseError(error).message)
      return undefined
    }
  }

  async function loadEntities(ids: readonly string[], head: Items): Promise<void> {
    const readBatch = (start: number) => {
      const entityKeys = layout.entityKeys(ids.slice(start, start + batch))
      return entityKeys.length > 0 ? storage.get(entityKeys) : head
    }
    let next = readBatch(0)
    for (let start = 0; start < ids.length; start += batch) {
      const lookup = layout.lookup(await next)
      // The next batch is read while this one is applied.
      next = readBatch(start + batch)
      view.apply({
        entities: ids.slice(start, start + batch).map((id) => {
          const stored = lookup(id)
          const read = () => conform(`the stored entity ${id}`, stored, schemas.entity)
          return [id, stored === undefined ? stored : usable('malformed-entity', read)]
        }),
      })
    }
  }
}
