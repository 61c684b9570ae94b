import { LeaseError } from '../core/index.ts'
import { isObject } from './json.ts'
import { STORAGE_KEYS } from './keys.ts'
import type { Items } from './storage.ts'

/** The shape of what is stored. Contexts that want another one must not write. */
export interface Format {
  readonly schemaVersion: number
  readonly shards: number
}

export interface Meta extends Format {
  /** Grows with every change of the index, in the same write. */
  readonly revision: number
}

export function readMeta(items: Items): Meta {
  const stored = items[STORAGE_KEYS.meta]
  const { revision, schemaVersion, shards } = isObject(stored) ? stored : {}
  return { revision: whole(revision, 0), schemaVersion: whole(schemaVersion, 1), shards: whole(shards, 1) }
}

function whole(value: unknown, least: number): number {
  return Number.isInteger(value) ? Math.max(least, value as number) : least
}

/** To be written together with the index. */
export function nextMeta(meta: Meta): Items & { readonly [STORAGE_KEYS.meta]: Meta } {
  return { [STORAGE_KEYS.meta]: { ...meta, revision: meta.revision + 1 } }
}

export function fits(meta: Meta, format: Format): boolean {
  return meta.schemaVersion === format.schemaVersion && meta.shards === format.shards
}

export function otherFormat(meta: Meta, format: Format): LeaseError {
  const show = ({ schemaVersion, shards }: Format) => `schema ${schemaVersion}, index shards ${shards}`
  return new LeaseError('store-failed', `stored: ${show(meta)}; wanted here: ${show(format)}`)
}
