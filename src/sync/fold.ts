/** What the records of the log make of the stored data. Pure: it only computes. */
import { isObject } from '../base/arguments.ts'
import { LeaseError } from '../base/errors.ts'
import { withChanges } from './json.ts'
import type { Layout } from './layout.ts'
import { DONE, type Operation, placeOf, readRecord } from './log.ts'
import { settingsAfter } from './settings.ts'
import type { Items, StorageAdapter } from './storage.ts'

/** An operation, and its place in the log. */
export type Logged = readonly [place: string, operation: Operation]

export interface Records {
  /** The operations of this format, in their order. */
  readonly operations: readonly Logged[]
  /** The keys of these records, and of those that were carried out before. */
  readonly keys: readonly string[]
}

/** `ignored`: malformed records, and those of other formats. They stay where they are. */
export function readRecords(items: Items, prefix: string, format: string) {
  const operations: Logged[] = []
  const keys: string[] = []
  const ignored: string[] = []
  for (const key of Object.keys(items).sort()) {
    if (!key.startsWith(prefix)) continue
    const record = readRecord(items[key])
    if (record === null || (record !== DONE && record.format !== format)) {
      ignored.push(key)
      continue
    }
    keys.push(key)
    if (record !== DONE) for (const [at, op] of record.ops.entries()) operations.push([placeOf(key, at), op])
  }
  return { operations, keys, ignored }
}

export interface Base {
  readonly indexed: ReadonlySet<string>
  readonly revision: number
  /** A stored entity. */
  readonly find: (id: string) => unknown
  readonly settings: unknown
  readonly defaults: object
}

export type Fold = ReturnType<typeof createFold>

/** What operations make of stored data. Apply them in their order. */
export function createFold(base: Base) {
  /** Ids that left the index. Those that are also in `values` were added again afterwards. */
  const removed = new Set<string>()
  const values = new Map<string, object>()
  /** By place in the log: operations that could not be carried out. */
  const refused = new Map<string, LeaseError>()
  let settings: object | undefined

  return {
    removed,
    values,
    refused,
    entity,
    /** `undefined`: as they are stored. */
    get settings() {
      return settings
    },
    apply([place, { delta = [], seenAt, patch, reset, settings: changes }]: Logged): void {
      if (reset) {
        values.clear()
        for (const id of base.indexed) removed.add(id)
      }
      for (const [id, value] of delta) {
        // Somebody has changed the index, or set the entity, since this removal was decided.
        if (seenAt !== undefined && (base.revision > seenAt || values.has(id))) continue
        if (value) values.set(id, value)
        else {
          values.delete(id)
          removed.add(id)
        }
      }
      if (patch) {
        const [id, ...fields] = patch
        const current = entity(id)
        if (current) values.set(id, withChanges(current, fields))
        else refused.set(place, new LeaseError('not-found', `entity ${id} does not exist`, { resource: id }))
      }
      if (changes) {
        const after = settingsAfter(settings ?? base.settings, changes, base.defaults)
        if (after instanceof LeaseError) refused.set(place, after)
        else settings = after
      }
    },
  }

  function entity(id: string): object | undefined {
    const stored = base.indexed.has(id) && !removed.has(id) ? base.find(id) : undefined
    return values.get(id) ?? (isObject(stored) ? stored : undefined)
  }
}

/**
 * Reads these keys. In a storage that several devices share, an entity is in the index as soon as its key exists:
 * another device may have added it.
 */
export async function readHead(
  { storage, layout }: { readonly storage: StorageAdapter; readonly layout: Layout },
  keys = layout.headKeys,
): Promise<Items> {
  const items = await storage.get(keys)
  if (!storage.shared) return items
  const found = (await storage.keys()).flatMap((key) => layout.idOf(key) ?? [])
  return {
    ...items,
    ...layout.change(
      items,
      [],
      found.map((id) => [id, {}]),
    ).index,
  }
}
