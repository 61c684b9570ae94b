import { hasMethods, isObject, show } from './arguments.ts'

/**
 * The first part of a value that JSON would change silently, such as `scenes[2].tags: a Map`; `null`: there is none.
 * Call it after `JSON.stringify` has succeeded, because it does not end for a cycle. Absent fields, and objects
 * with a `toJSON` of their own, are the caller's choice.
 */
export function lostInJson(value: unknown, path = ''): string | null {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      const lost = item === undefined ? `${path}[${index}]: undefined` : lostInJson(item, `${path}[${index}]`)
      if (lost) return lost
    }
    return null
  }
  if (!isObject(value)) {
    const isKept =
      typeof value === 'number' ? Number.isFinite(value) : !['function', 'symbol'].includes(typeof value)
    return isKept ? null : `${path || 'value'}: ${show(value)}`
  }
  const kind = Object.prototype.toString.call(value)
  // It would come back as text.
  if (kind === '[object Date]') return `${path || 'value'}: a Date`
  if (hasMethods(value, 'toJSON')) return null
  // Fields of a class are kept. A Map, a Set or a typed array has no fields to keep.
  if (kind !== '[object Object]') return `${path || 'value'}: ${show(value)}`
  for (const [key, item] of Object.entries(value)) {
    const lost = lostInJson(item, path ? `${path}.${key}` : key)
    if (lost) return lost
  }
  return null
}
