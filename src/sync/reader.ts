/**
 * Brings what is stored into the view. Events and messages only say what to read: reads are made one after the
 * other, so what is shown never goes back in time, however late or doubled an event is.
 */
import type { Clock } from '../core/index.ts'
import { isObject } from './json.ts'
import { STORAGE_KEYS } from './keys.ts'
import type { Layout } from './layout.ts'
import { type Format, fits, otherFormat, readMeta } from './meta.ts'
import { settingsProblems } from './settings.ts'
import type { StorageAdapter, StorageListener } from './storage.ts'
import type { View } from './view.ts'
import type { Warn } from './warnings.ts'

const RETRY_MS = 500

export interface ReaderOptions<E extends object, S extends object> {
  readonly storage: StorageAdapter
  readonly layout: Layout
  readonly format: Format
  readonly view: View<E, S>
  readonly defaults: S
  /** How many entities are read at once. */
  readonly batch: number
  readonly clock: Clock
  readonly warn: Warn
}

/** What to read, and what to do when it has been read. */
export interface Stale {
  readonly settings?: boolean
  readonly index?: boolean
  readonly ids?: Iterable<string>
  readonly afterwards?: () => void
}

export interface Reader {
  /** Reads all; rejects when it cannot. What grew stale in the meantime is read after it. */
  readAll(): Promise<void>
  /** Waits while `readAll` has not succeeded. */
  stale(what: Stale): void
  readonly onChanged: StorageListener
  close(): void
}

export function createReader<E extends object, S extends object>(options: ReaderOptions<E, S>): Reader {
  const { storage, layout, format, view, clock, warn } = options
  let settings = false
  let index = false
  let ids = new Set<string>()
  let followUps: (() => void)[] = []
  let state: 'new' | 'idle' | 'reading' | 'closed' = 'new'
  let cancelRetry = () => {}

  return {
    async readAll() {
      await load(true, true, [])
      if (state === 'new') state = 'idle'
      void readStale()
    },
    stale,
    onChanged(changes) {
      if (!changes) return stale({ settings: true, index: true, ids: view.entries().map(([id]) => id) })
      const subjects = Object.keys(changes).map((key) => layout.subject(key))
      stale({
        settings: STORAGE_KEYS.settings in changes,
        index: subjects.some((subject) => subject && 'index' in subject),
        ids: subjects.flatMap((subject) => subject?.id ?? []),
      })
    },
    close() {
      state = 'closed'
      cancelRetry()
    },
  }

  function stale(what: Stale): void {
    settings ||= what.settings ?? false
    index ||= what.index ?? false
    for (const id of what.ids ?? []) {
      if (layout.inIndex) index = true
      else ids.add(id)
    }
    if (what.afterwards) followUps.push(what.afterwards)
    void readStale()
  }

  async function readStale(): Promise<void> {
    while (state === 'idle' && (settings || index || ids.size > 0 || followUps.length > 0)) {
      state = 'reading'
      const taken = { settings, index, ids, followUps }
      settings = index = false
      ids = new Set()
      followUps = []
      try {
        await load(taken.settings, taken.index, taken.ids)
      } catch (error) {
        retry(taken, error)
        return
      }
      if (state === 'reading') state = 'idle'
      for (const followUp of taken.followUps) followUp()
    }
  }

  function retry(
    taken: { settings: boolean; index: boolean; ids: Set<string>; followUps: (() => void)[] },
    error: unknown,
  ) {
    if (state === 'closed') return
    warn('read-failed', 'the storage could not be read', error)
    settings ||= taken.settings
    index ||= taken.index
    for (const id of taken.ids) ids.add(id)
    followUps = [...taken.followUps, ...followUps]
    cancelRetry = clock.setTimer(() => {
      state = 'idle'
      void readStale()
    }, RETRY_MS)
  }

  async function load(withSettings: boolean, withIndex: boolean, changed: Iterable<string>): Promise<void> {
    const wanted = new Set(changed)
    const headKeys = [
      ...(withSettings ? [STORAGE_KEYS.settings] : []),
      ...(withIndex ? [STORAGE_KEYS.meta, ...layout.indexKeys] : []),
    ]
    const head = headKeys.length > 0 ? await storage.get(headKeys) : {}
    const meta = readMeta(head)
    if (withIndex && !fits(meta, format)) return warn('other-format', otherFormat(meta, format).message)
    if (withSettings) applySettings(head[STORAGE_KEYS.settings])
    if (withIndex) {
      const indexed = layout.ids(head)
      if (!indexed) warn('malformed-index', `${layout.indexKeys[0]} is no index`)
      else {
        view.applyIndex(indexed, meta.revision)
        for (const id of indexed) if (layout.inIndex || !view.holds(id)) wanted.add(id)
      }
    }
    const readable = [...wanted].filter(view.indexes)
    for (let at = 0; at < readable.length; at += options.batch) {
      const batch = readable.slice(at, at + options.batch)
      const keys = layout.entityKeys(batch)
      const lookup = layout.lookup(keys.length > 0 ? await storage.get(keys) : head)
      for (const id of batch) applyEntity(id, lookup(id))
    }
  }

  function applySettings(stored: unknown): void {
    const next = isObject(stored) ? { ...options.defaults, ...stored } : (stored ?? options.defaults)
    const problems = Object.entries(settingsProblems(next))
    if (problems.length === 0) view.applySettings(next as S)
    else warn('malformed-settings', problems.map((problem) => problem.join(': ')).join(', '))
  }

  function applyEntity(id: string, entity: unknown): void {
    const sound = isObject(entity)
    if (!sound && entity !== undefined) warn('malformed-entity', `the entity ${id} is no object`)
    view.applyEntityState(id, sound ? (entity as E) : undefined)
  }
}
