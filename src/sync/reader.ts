/**
 * Reads the storage into the view. Events and messages only name what to read. Reads run one after the other, so the
 * view never goes back to older data, even if an event comes late or twice.
 */
import { isObject } from '../base/arguments.ts'
import type { Clock } from '../base/clock.ts'
import { asLeaseError } from '../base/errors.ts'
import { adopt, placeOf } from './fold.ts'
import { expectFormat, type Format, readMeta, show } from './format.ts'
import type { Layout } from './layout.ts'
import { DONE, readRecord } from './log.ts'
import { settingsProblems, usableSettings } from './settings.ts'
import { type Items, logOf, type StorageAdapter, type StorageListener } from './storage.ts'
import type { Validate } from './validate.ts'
import type { View } from './view.ts'
import type { Warn } from './warnings.ts'

const RETRY_MS = 500

export interface ReaderOptions<E extends object, S extends object> {
  readonly storage: StorageAdapter
  readonly layout: Layout
  readonly format: Format
  readonly view: View<E, S>
  readonly defaults: S
  readonly validate: Validate
  /** How many entities are read at once. */
  readonly batch: number
  readonly clock: Clock
  readonly warn: Warn
  /** The storage cannot be read any more. */
  readonly invalidated: (error: unknown) => void
}

/** What must be read again, and what to do after the read. */
export interface Stale {
  readonly settings?: boolean
  readonly index?: boolean
  readonly ids?: Iterable<string>
  /** The keys of records. */
  readonly records?: Iterable<string>
  readonly afterRead?: () => void
}

export interface Reader {
  /** Reads everything, and rejects if that fails. Data that became stale meanwhile is read afterwards. */
  readAll(head: Items): Promise<void>
  /** Reads this again. Before the first `readAll` has succeeded, the request waits. */
  stale(what: Stale): void
  readonly onChanged: StorageListener
  close(): void
}

interface Wanted {
  settings: boolean
  index: boolean
  readonly ids: Set<string>
  readonly records: Set<string>
  readonly followUps: (() => void)[]
}

const nothing = (): Wanted => ({
  settings: false,
  index: false,
  ids: new Set(),
  records: new Set(),
  followUps: [],
})

export function createReader<E extends object, S extends object>(options: ReaderOptions<E, S>): Reader {
  const { storage, layout, format, view, defaults, validate, batch, clock, warn } = options
  const { keys, indexKeys } = layout
  const log = logOf(storage)
  let pending = nothing()
  let state: 'new' | 'idle' | 'reading' | 'closed' = 'new'
  let cancelRetry = () => {}

  return {
    async readAll(head) {
      await load({ ...nothing(), settings: true, index: true }, head)
      if (state === 'new') state = 'idle'
      void readPending()
    },
    stale,
    onChanged(changes) {
      // `null`: anything may have changed.
      if (!changes)
        return stale({
          settings: true,
          index: true,
          ids: view.state.entries.map(([id]) => id),
          records: view.records,
        })
      const changed = Object.keys(changes)
      const ids = changed.flatMap((key) => layout.idOf(key) ?? [])
      stale({
        settings: keys.settings in changes,
        index:
          indexKeys.some((key) => key in changes) || (storage.shared && !ids.every(view.indexes)) === true,
        ids,
        // A record never changes until it is carried out.
        records: changed.filter(
          (key) => key.startsWith(keys.logPrefix) && !(changes[key]?.newValue && view.operationsOf(key)),
        ),
      })
    },
    close() {
      state = 'closed'
      cancelRetry()
    },
  }

  function stale({ settings = false, index = false, ids = [], records = [], afterRead }: Stale): void {
    pending.settings ||= settings
    pending.index ||= index
    for (const id of ids) {
      // If the index contains the entities, read the index.
      if (layout.inIndex) pending.index = true
      else pending.ids.add(id)
    }
    for (const key of records) pending.records.add(key)
    if (afterRead) pending.followUps.push(afterRead)
    void readPending()
  }

  async function readPending(): Promise<void> {
    while (state === 'idle' && isSomething(pending)) {
      state = 'reading'
      const taken = pending
      pending = nothing()
      try {
        await load(taken)
      } catch (error) {
        return tryLater(taken, error)
      }
      if (state === 'reading') state = 'idle'
      for (const followUp of taken.followUps) followUp()
    }
  }

  function tryLater(taken: Wanted, error: unknown): void {
    if (state === 'closed') return
    if (asLeaseError(error).code === 'closed') {
      options.invalidated(error)
      return
    }
    warn('read-failed', 'the storage could not be read; the read is repeated', error)
    const { settings, index, ids, records, followUps } = pending
    pending = taken
    pending.followUps.push(...followUps)
    stale({ settings, index, ids, records })
    cancelRetry = clock.setTimer(() => {
      state = 'idle'
      void readPending()
    }, RETRY_MS)
  }

  /** Reads what is wanted. `head`: the index and the settings, if the caller has already read them. */
  async function load(wanted: Wanted, head?: Items): Promise<void> {
    const records = wanted.records.size > 0 ? await log.get([...wanted.records]) : {}
    const done = applyRecords(wanted, records)
    const wantedKeys = [
      ...(wanted.settings ? [keys.settings] : []),
      ...(wanted.index ? [keys.meta, ...indexKeys] : []),
    ]
    let items = head ?? (wantedKeys.length > 0 ? await storage.get(wantedKeys) : {})
    if (wanted.index && storage.shared) items = adopt(items, await storage.keys(), layout)
    if (wanted.settings) applySettings(items[keys.settings])
    const ids = new Set(wanted.ids)
    if (wanted.index) for (const id of applyIndex(items)) ids.add(id)
    await loadEntities([...ids].filter(view.indexes), items)
    for (const key of done) view.drop(key)
  }

  /** Returns the keys of records that were carried out. What they changed is read next, and is then in the storage. */
  function applyRecords(wanted: Wanted, items: Items): readonly string[] {
    const done: string[] = []
    for (const key of [...wanted.records].sort()) {
      const record = readRecord(items[key])
      const known = view.operationsOf(key)
      if (record && record.format === show(format)) {
        if (!known) for (const [at, op] of record.ops.entries()) view.add(key, placeOf(key, at), op)
      } else if (record === DONE && known) {
        done.push(key)
        for (const { delta = [], patch, settings, reset } of known) {
          wanted.settings ||= settings !== undefined
          wanted.index ||= layout.inIndex || reset === true
          for (const [id, entity] of delta) wanted.index ||= view.indexes(id) !== (entity !== null)
          for (const [id] of patch ? [patch] : delta) wanted.ids.add(id)
        }
      }
    }
    return done
  }

  function applySettings(stored: unknown): void {
    const settings = usableSettings(stored, defaults)
    const problems = Object.entries(stored === undefined ? {} : settingsProblems(withDefaults(stored)))
    if (problems.length > 0)
      warn('malformed-settings', problems.map((problem) => problem.join(': ')).join(', '))
    try {
      view.applySettings(validate.settings('settings', settings))
    } catch (error) {
      warn('malformed-settings', asLeaseError(error).message)
    }
  }

  function withDefaults(stored: unknown): unknown {
    return isObject(stored) ? { ...defaults, ...stored } : stored
  }

  /** Returns the ids whose entities must be read. */
  function applyIndex(items: Items): readonly string[] {
    const meta = readMeta(items, keys)
    try {
      expectFormat(meta, format)
    } catch (error) {
      warn('other-format', asLeaseError(error).message)
      return []
    }
    const missing = isObject(items[keys.meta]) && indexKeys.some((key) => !(key in items)) && !storage.shared
    const ids = missing ? null : layout.ids(items)
    if (ids) view.applyIndex(ids, meta?.revision ?? 0)
    else warn('malformed-index', `${indexKeys[0]} does not contain a list of ids`)
    return (ids ?? []).filter((id) => layout.inIndex || !view.holds(id))
  }

  async function loadEntities(ids: readonly string[], head: Items): Promise<void> {
    const read = (start: number) => {
      const entityKeys = layout.entityKeys(ids.slice(start, start + batch))
      return entityKeys.length > 0 ? storage.get(entityKeys) : head
    }
    let next = read(0)
    for (let start = 0; start < ids.length; start += batch) {
      const lookup = layout.lookup(await next)
      // The next batch is read while this one is applied.
      next = read(start + batch)
      for (const id of ids.slice(start, start + batch)) applyEntity(id, lookup(id))
    }
  }

  function applyEntity(id: string, stored: unknown): void {
    let entity: E | undefined
    try {
      if (stored !== undefined) entity = validate.entity(`the stored entity ${id}`, stored)
    } catch (error) {
      warn('malformed-entity', asLeaseError(error).message)
    }
    view.applyEntityState(id, entity)
  }
}

function isSomething({ settings, index, ids, records, followUps }: Wanted): boolean {
  return settings || index || ids.size > 0 || records.size > 0 || followUps.length > 0
}
