/** What the records of the log make of the stored data. Pure: it only computes. */
import { isObject } from '../base/arguments.ts'
import { asLeaseError, LeaseError } from '../base/errors.ts'
import { isDeepEqual, withChanges } from './json.ts'
import type { Operation } from './log.ts'
import { settingsAfter } from './settings.ts'

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
  /** Operations that could not be carried out. */
  const refused = new Map<Operation, LeaseError>()
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
    apply(operation: Operation): void {
      const { delta = [], seenAt, id, patch, swap, update, reset } = operation
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
      if (id) {
        const current = entity(id)
        if (patch && !current)
          refused.set(operation, new LeaseError('not-found', `entity ${id} does not exist`, { resource: id }))
        else if (swap && !isDeepEqual(current ?? null, swap[0]))
          refused.set(operation, new LeaseError('conflict', `entity ${id} has changed`))
        else {
          const next = patch ? withChanges(current ?? {}, patch) : (swap?.[1] ?? update?.(current))
          if (next) values.set(id, next)
        }
      }
      if (operation.settings)
        try {
          settings = settingsAfter(settings ?? base.settings, operation.settings, base.defaults)
        } catch (error) {
          refused.set(operation, asLeaseError(error))
        }
    },
  }

  function entity(id: string): object | undefined {
    const stored = base.indexed.has(id) && !removed.has(id) ? base.find(id) : undefined
    return values.get(id) ?? (isObject(stored) ? stored : undefined)
  }
}
