/** A whole collection as one JSON value: for a backup, or to move it to another device. */

import { expectOptions, isObject, refuse } from '../base/arguments.ts'
import { isId } from './json.ts'
import type { ImportOptions } from './options.ts'
import type { SyncSettings } from './settings.ts'
import type { Sync } from './sync.ts'
import { REPLACE, type Replacing } from './writes.ts'

export interface ExportedCollection<E extends object = object, S extends object = SyncSettings> {
  readonly settings: S
  /** In the order in which they were added. */
  readonly entities: readonly (readonly [id: string, entity: E])[]
}

/**
 * Resolves with all entities and settings, as JSON.
 *
 * @example
 * download(JSON.stringify(await exportCollection(sync)))
 */
export async function exportCollection<E extends object, S extends object>(
  sync: Sync<E, S>,
): Promise<ExportedCollection<E, S>> {
  await sync.bootstrap()
  const { entries: entities, settings } = sync.state
  return structuredClone({ settings, entities })
}

/**
 * Stores an exported collection in one write: all of it, or nothing.
 *
 * @example
 * await importCollection(sync, JSON.parse(text), { replace: true })
 */
export async function importCollection<E extends object, S extends object>(
  sync: Sync<E, S>,
  collection: ExportedCollection<E, S>,
  options: ImportOptions = {},
): Promise<void> {
  expectOptions(options, { replace: 1 })
  const { settings, entities } = isObject(collection)
    ? collection
    : { settings: undefined, entities: undefined }
  const valid =
    isObject(settings) &&
    Array.isArray(entities) &&
    entities.every((pair) => Array.isArray(pair) && isId(pair[0]) && isObject(pair[1]))
  if (!valid) refuse('collection', 'what exportCollection returns: { settings, entities }', collection)
  // Without the stored settings, invalid ones cannot be refused at once.
  await sync.bootstrap()
  await (sync as unknown as Replacing)[REPLACE](entities, settings, options.replace === true)
}
