import { LeaseError } from '../core/index.ts'

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isId(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
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
    // The stack is full: a storage that clones may hold what is cyclic.
    return false
  }
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
  if (!isId(id) || !id.isWellFormed()) throw invalid('entity id', 'a non-empty string', id)
}

export function expectWhole(option: string, value: number, min: number, max: number): void {
  if (!Number.isInteger(value) || value < min || value > max)
    throw invalid(option, `a whole number from ${min} to ${max}`, value)
}

export function expectFunction(option: string, value: unknown): void {
  if (typeof value !== 'function') throw invalid(option, 'a function', value)
}

export function expectMethods(option: string, port: unknown, ...methods: readonly string[]): void {
  if (!methods.every((method) => typeof Object(port)[method] === 'function'))
    throw invalid(option, `an object with ${methods.join(', ')}`, port)
}

export function invalid(option: string, expected: string, value: unknown): LeaseError {
  return new LeaseError('invalid-argument', `${option}: expected ${expected}, got ${show(value)}`)
}

function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 60))
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return 'a list'
  return isObject(value) ? 'an object' : String(value)
}
