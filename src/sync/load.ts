/** Reads items from the storage, checks them, and applies them to the view. */
import { isObject } from '../base/arguments.ts'
import { type Format, fits, otherFormat, readMeta } from './format.ts'
import { type Layout, STORAGE_KEYS } from './layout.ts'
import { settingsProblems } from './settings.ts'
import type { Items, StorageAdapter } from './storage.ts'
import type { View } from './view.ts'
import type { Warn } from './warnings.ts'

export interface LoadOptions<E extends object, S extends object> {
  readonly storage: StorageAdapter
  readonly layout: Layout
  readonly format: Format
  readonly view: View<E, S>
  readonly defaults: S
  /** How many entities are read at once. */
  readonly batch: number
  readonly warn: Warn
}

/** What to read. */
export interface Wanted {
  readonly settings: boolean
  readonly index: boolean
  readonly ids: ReadonlySet<string>
}

/**
 * Reads what is wanted, and the entities that are new in the index, and applies it to the view. `head`: the items
 * of `headKeys`, if the caller has already read them.
 */
export type Load = (wanted: Wanted, head?: Items) => Promise<void>

export function createLoad<E extends object, S extends object>(options: LoadOptions<E, S>): Load {
  const { storage, layout, format, view, defaults, warn } = options

  return async (wanted, head) => {
    const keys = headKeys(wanted, layout)
    const items = head ?? (keys.length > 0 ? await storage.get(keys) : {})
    const meta = readMeta(items)
    if (wanted.index && !fits(meta, format)) return warn('other-format', otherFormat(meta, format).message)
    if (wanted.settings) applySettings(items[STORAGE_KEYS.settings])
    const ids = new Set(wanted.ids)
    if (wanted.index) for (const id of applyIndex(items, meta.revision)) ids.add(id)
    await loadEntities([...ids].filter(view.indexes), items)
  }

  function applySettings(stored: unknown): void {
    const next = isObject(stored) ? { ...defaults, ...stored } : (stored ?? defaults)
    const problems = Object.entries(settingsProblems(next))
    if (problems.length === 0) view.applySettings(next as S)
    else warn('malformed-settings', problems.map((problem) => problem.join(': ')).join(', '))
  }

  /** Returns the ids whose entities must be read. */
  function applyIndex(items: Items, revision: number): readonly string[] {
    const ids = layout.ids(items)
    if (ids) view.applyIndex(ids, revision)
    else warn('malformed-index', `${layout.indexKeys[0]} does not contain a list of ids`)
    return (ids ?? []).filter((id) => layout.inIndex || !view.holds(id))
  }

  async function loadEntities(ids: readonly string[], head: Items): Promise<void> {
    const read = (start: number) => {
      const keys = layout.entityKeys(ids.slice(start, start + options.batch))
      return keys.length > 0 ? storage.get(keys) : head
    }
    let next = read(0)
    for (let start = 0; start < ids.length; start += options.batch) {
      const lookup = layout.lookup(await next)
      // The next batch is read while this one is applied.
      next = read(start + options.batch)
      for (const id of ids.slice(start, start + options.batch)) applyEntity(id, lookup(id))
    }
  }

  function applyEntity(id: string, entity: unknown): void {
    const valid = isObject(entity)
    if (!valid && entity !== undefined) warn('malformed-entity', `the stored entity ${id} is not an object`)
    view.applyEntityState(id, valid ? (entity as E) : undefined)
  }
}

/** The keys to read before any entity. */
export function headKeys({ settings, index }: Pick<Wanted, 'settings' | 'index'>, layout: Layout): string[] {
  return [
    ...(settings ? [STORAGE_KEYS.settings] : []),
    ...(index ? [STORAGE_KEYS.meta, ...layout.indexKeys] : []),
  ]
}
