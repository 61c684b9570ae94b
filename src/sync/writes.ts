/** The methods of a sync that write. What they are given is checked in the tick in which they are called. */
import { expectFunction, refuse } from '../base/arguments.ts'
import { expectId, type FieldChanges, fieldChanges, isDeepEqual, jsonCopy, withChanges } from './json.ts'
import type { Operation } from './log.ts'
import { settingsAfter } from './settings.ts'
import type { Sync } from './sync.ts'
import { conform, type StandardSchema } from './validate.ts'
import type { SyncContext, SyncMethods } from './writing.ts'

/** Stores entities and settings in one write, after all of them were checked. For `importCollection`. */
export const REPLACE: unique symbol = Symbol('replace')

export interface Replacing {
  [REPLACE](entities: Iterable<unknown>, settings: object, reset: boolean): Promise<void>
}

export function createWrites<E extends object, S extends object>(context: SyncContext<E, S>) {
  const { append, view, schemas, defaults, checked, tracked } = context
  return {
    setEntity: (id, entity) => setEntities([[id, entity]]),
    setEntities,
    async patchEntity(id, fields) {
      expectId(id)
      const changes = fieldChanges(`fields of ${id}`, fields)
      const entity = view.get(id)
      if (entity) conform(`entity ${id}`, withChanges(entity, changes), schemas.entity)
      await write({ id, patch: changes })
    },
    async updateEntity(id, change) {
      expectId(id)
      expectFunction('change', change)
      const thrown = await rarely(({ update }) => update(id, change))
      if (thrown) throw thrown.error
    },
    async removeEntity(...ids) {
      ids.forEach(expectId)
      if (ids.length > 0) await write({ delta: [...new Set(ids)].map((id) => [id, null]) })
    },
    async updateSettings(fields) {
      await write({ settings: checkedSettings(fields) })
    },
    reset: () => write({ reset: true }),
    cleanupOrphans: () => rarely(({ cleanupOrphans }) => cleanupOrphans()),
    rebuildIndex: () => rarely(({ rebuildIndex }) => rebuildIndex()),
    async [REPLACE](entities, fields, reset) {
      await write({
        ...(reset && { reset }),
        delta: checkedDelta(entities),
        settings: checkedSettings(fields),
      })
    },
  } satisfies Partial<Sync<E, S>> & Replacing

  function write(operation: Operation): Promise<void> {
    return tracked(() => append.write(operation))
  }

  /** After the writes that were made before. */
  function rarely<T>(use: (methods: SyncMethods<E>) => Promise<T>): Promise<T> {
    return tracked(async (earlier) => {
      await context.bootstrap()
      await Promise.allSettled(earlier)
      return use(await context.methods())
    })
  }

  async function setEntities(entities: Iterable<readonly [id: string, entity: E]>): Promise<void> {
    const delta = checkedDelta(entities)
    if (delta.length > 0) await write({ delta })
  }

  function checkedDelta(entities: Iterable<unknown>): [id: string, entity: E][] {
    if (typeof Object(entities)[Symbol.iterator] !== 'function')
      refuse('entities', 'pairs of id and entity', entities)
    const delta = new Map<string, E>()
    for (const pair of entities) {
      if (!Array.isArray(pair)) refuse('entities', 'pairs of id and entity', pair)
      const [id, entity] = pair
      expectId(id)
      delta.set(id, checked(id, entity))
    }
    return [...delta]
  }

  function checkedSettings(fields: object): FieldChanges {
    const changes = fieldChanges('settings', fields)
    if (context.isReady())
      conform('settings', settingsAfter(view.settings, changes, defaults), schemas.settings)
    return changes
  }
}

/** An entity as it is stored: after the transformations of the schema, which it goes through again when it is read. */
export function checkedEntity<E extends object>(
  schema: StandardSchema<E> | undefined,
): (id: string, entity: unknown) => E {
  return (id, entity) => {
    const name = `entity ${id}`
    const input = jsonCopy(name, entity as E)
    if (!schema) return input
    const result = jsonCopy(name, conform(name, input, schema))
    if (!isDeepEqual(conform(name, result, schema), result))
      refuse('validate', 'a schema that leaves its own result as it is', schema)
    return result
  }
}
