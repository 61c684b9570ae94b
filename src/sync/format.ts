/** The format of the stored data, and its record in the storage. */
import { isObject } from '../base/arguments.ts'
import { LeaseError } from '../base/errors.ts'
import type { Layout, StorageKeys } from './layout.ts'
import type { Items } from './storage.ts'

/** A context must not write into a storage of another format. */
export interface Format {
  /** `A`: the layout `one-key`. `B`: `key-per-entity`. These are the names that storages have of earlier versions. */
  readonly option: string
  readonly schemaVersion: number
  readonly shards: number
}

export interface Meta extends Format {
  /** Increases with every change of the index, in the same write. */
  readonly revision: number
}

/** `items` must include the index, because code without this library stores no meta. */
export function readMeta(items: Items, keys: StorageKeys): Meta | undefined {
  const stored = items[keys.meta]
  const { revision, schemaVersion, shards, option } = isObject(stored) ? stored : {}
  const found =
    option ?? (keys.index in items || isObject(stored) ? 'B' : isObject(items[keys.all]) ? 'A' : undefined)
  if (!found) return undefined
  return {
    option: typeof found === 'string' ? found : 'unknown',
    revision: atLeast(0, revision),
    schemaVersion: atLeast(1, schemaVersion),
    shards: atLeast(1, shards),
  }
}

function atLeast(min: number, value: unknown): number {
  return Number.isInteger(value) ? Math.max(min, value as number) : min
}

/** Part of every record of the log, so it never changes. */
export function show({ option, shards, schemaVersion }: Format): string {
  return `option ${option}, index shards ${shards}, schema ${schemaVersion}`
}

/** An empty storage fits every format. */
export function expectFormat(items: Items, keys: StorageKeys, format: Format): void {
  const meta = readMeta(items, keys)
  if (meta && show(meta) !== show(format))
    throw new LeaseError(
      'other-format',
      `the storage has another format: ${inWords(meta)}; this context expects ${inWords(format)}`,
    )
}

function inWords(format: Format): string {
  return show(format).replace('option A', 'layout one-key').replace('option B', 'layout key-per-entity')
}

/** Whether the storage must be migrated first, or cannot be used at all. */
export function hasOtherFormat(items: Items, { keys, inIndex }: Layout, format: Format): boolean {
  const meta = readMeta(items, keys)
  if (!meta) return format.schemaVersion > 1
  const all = items[keys.all]
  const leftOver = !inIndex && isObject(all) && Object.keys(all).length > 0
  return show(meta) !== show(format) || leftOver
}
