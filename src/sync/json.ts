/** JSON values: what a storage keeps and a message carries. */

import { isObject, refuse } from '../base/arguments.ts'
import { LeaseError, messageOf } from '../base/errors.ts'
import { MAX_JSON_LEVELS } from './options.ts'

export function isId(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

export function expectId(id: unknown): asserts id is string {
  // Chrome cuts a key at U+0000.
  if (!isId(id) || !id.isWellFormed() || id.includes('\0'))
    refuse('entity id', 'a non-empty string of valid Unicode without U+0000', id)
}

/** For JSON values. The order of keys does not count. */
export function isDeepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true
  try {
    if (Array.isArray(a) && Array.isArray(b))
      return a.length === b.length && a.every((item, index) => isDeepEqual(item, b[index]))
    if (!isObject(a) || !isObject(b)) return false
    const keys = Object.keys(a)
    return (
      keys.length === Object.keys(b).length &&
      keys.every((key) => Object.hasOwn(b, key) && isDeepEqual(a[key], b[key]))
    )
  } catch {
    // Stack overflow: a storage that clones its values may hold a cyclic one.
    return false
  }
}

/**
 * A copy as the storage will keep it, without fields that are `undefined`. Later changes to the caller's object do
 * not affect it. A value that a storage would drop or change is refused, with its path.
 */
export function jsonCopy<T extends object>(name: string, value: T): T {
  if (!isObject(value)) refuse(name, 'a JSON object', value)
  try {
    return copyOf(name, value, []) as T
  } catch (error) {
    if (error instanceof LeaseError) throw error
    // A getter or a proxy of the caller.
    throw new LeaseError('invalid-argument', `${name} cannot be read: ${messageOf(error)}`, { cause: error })
  }
}

function copyOf(path: string, value: unknown, parents: readonly unknown[]): unknown {
  if (typeof value === 'string') return wellFormed(path, value)
  if (value === null || typeof value === 'boolean' || Number.isFinite(value)) return value
  if (parents.includes(value)) refuse(path, 'a JSON value without a cycle', value)
  if (parents.length === MAX_JSON_LEVELS)
    throw new LeaseError('invalid-argument', `${path.slice(0, 80)}… has more than ${MAX_JSON_LEVELS} levels`)
  const within = [...parents, value]
  if (Array.isArray(value)) return Array.from(value, (item, at) => copyOf(`${path}[${at}]`, item, within))
  if (!isObject(value) || !isPlain(value)) refuse(path, 'a JSON value', value)
  return Object.fromEntries(
    Object.entries(value)
      .filter((entry) => entry[1] !== undefined)
      .map(([key, item]) => [wellFormed(path, key), copyOf(`${path}.${key}`, item, within)]),
  )
}

/** Chrome replaces half of a surrogate pair. */
function wellFormed(path: string, text: string): string {
  return text.isWellFormed() ? text : refuse(path, 'valid Unicode', text)
}

/** Not an instance of a class, such as a Map. The object may come from another window. */
function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** The fields to set, and the names of those to remove: the ones that are `undefined`. */
export type FieldChanges = readonly [fields: object, removed: readonly string[]]

export function fieldChanges(name: string, fields: object): FieldChanges {
  const copy = jsonCopy(name, fields)
  return [copy, Object.keys(fields).filter((field) => !Object.hasOwn(copy, field))]
}

export function withChanges<T extends object>(value: T, [fields, removed]: FieldChanges): T {
  const kept = Object.entries(value).filter(([field]) => !removed.includes(field))
  return { ...Object.fromEntries(kept), ...fields } as T
}
