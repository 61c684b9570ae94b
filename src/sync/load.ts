import { isObject } from './json.ts'
import { STORAGE_KEYS } from './keys.ts'
import type { Layout } from './layout.ts'
import { type Format, fits, otherFormat, readMeta } from './meta.ts'
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

/** Reads what is wanted, and what is new in the index, and shows it. `head`: what was read of it already. */
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

  /** Returns the ids whose entities have to be read. */
  function applyIndex(items: Items, revision: number): readonly string[] {
    const ids = layout.ids(items)
    if (ids) view.applyIndex(ids, revision)
    else warn('malformed-index', `${layout.indexKeys[0]} is no index`)
    return (ids ?? []).filter((id) => layout.inIndex || !view.holds(id))
  }

  async function loadEntities(ids: readonly string[], head: Items): Promise<void> {
    const read = (at: number) => {
      const keys = layout.entityKeys(ids.slice(at, at + options.batch))
      return keys.length > 0 ? storage.get(keys) : head
    }
    let next = read(0)
    for (let at = 0; at < ids.length; at += options.batch) {
      const lookup = layout.lookup(await next)
      // On its way while this one is applied.
      next = read(at + options.batch)
      for (const id of ids.slice(at, at + options.batch)) applyEntity(id, lookup(id))
    }
  }

  function applyEntity(id: string, entity: unknown): void {
    const sound = isObject(entity)
    if (!sound && entity !== undefined) warn('malformed-entity', `the entity ${id} is no object`)
    view.applyEntityState(id, sound ? (entity as E) : undefined)
  }
}

export function headKeys({ settings, index }: Pick<Wanted, 'settings' | 'index'>, layout: Layout): string[] {
  return [
    ...(settings ? [STORAGE_KEYS.settings] : []),
    ...(index ? [STORAGE_KEYS.meta, ...layout.indexKeys] : []),
  ]
}
