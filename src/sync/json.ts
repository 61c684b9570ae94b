/** JSON values: what a storage keeps and a message carries. */
import { isObject, refuse } from '../base/arguments.ts'

export function isId(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

export function expectId(id: unknown): asserts id is string {
  if (!isId(id) || !id.isWellFormed()) refuse('entity id', 'a non-empty string of valid Unicode', id)
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

/** A copy as the storage will keep it. Later changes to the caller's object do not affect it. */
export function jsonCopy<T extends object>(name: string, value: T): T {
  let copy: unknown
  try {
    copy = JSON.parse(JSON.stringify(value))
  } catch {
    // A cycle, a BigInt or `undefined`: refused below.
  }
  if (!isObject(copy)) refuse(name, 'a JSON object', value)
  return copy as T
}
