import { LONGEST_SHOWN } from './options.ts'

/** A value for a message. Works for every value: a BigInt, a symbol, an object without prototype. */
export function show(value: unknown): string {
  if (typeof value === 'string')
    return JSON.stringify(value.length > LONGEST_SHOWN ? `${value.slice(0, LONGEST_SHOWN)}…` : value)
  if (Object(value) !== value) return String(value) + (typeof value === 'bigint' ? 'n' : '')
  const name = typeof value === 'function' ? 'function' : Array.isArray(value) ? 'array' : classNameOf(value)
  return `${/^[aeiou]/i.test(name) ? 'an' : 'a'} ${name}`
}

function classNameOf(value: unknown): string {
  try {
    const { name } = (value as object).constructor
    if (typeof name === 'string' && name !== 'Object') return name || 'object'
  } catch {
    // No prototype, or a getter that throws.
  }
  return 'object'
}
