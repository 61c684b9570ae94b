import { LeaseError } from '../core/index.ts'

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** For JSON values. The order of keys does not count. */
export function isDeepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, index) => isDeepEqual(item, b[index]))
  if (!isObject(a) || !isObject(b)) return false
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isDeepEqual(a[key], b[key]))
  )
}

/** What a storage will keep of it: a copy, so that what the caller changes later does not count. */
export function jsonCopy<T extends object>(name: string, value: T): T {
  let copy: unknown
  try {
    copy = JSON.parse(JSON.stringify(value))
  } catch {
    // Cyclic, a BigInt, or nothing at all: refused below.
  }
  if (!isObject(copy)) throw invalid(name, 'a JSON object', value)
  return copy as T
}

export function expectId(id: string): void {
  if (typeof id !== 'string' || id === '' || !id.isWellFormed())
    throw invalid('entity id', 'a non-empty string', id)
}

export function expectWhole(option: string, value: number, min: number, max: number): void {
  if (!Number.isInteger(value) || value < min || value > max)
    throw invalid(option, `a whole number from ${min} to ${max}`, value)
}

export function invalid(option: string, expected: string, value: unknown): LeaseError {
  const got = typeof value === 'string' ? JSON.stringify(value.slice(0, 60)) : value
  return new LeaseError(
    'invalid-argument',
    `${option}: expected ${expected}, got ${isObject(got) ? 'an object' : String(got)}`,
  )
}
