import { expectOptions, expectText, isObject, refuse } from '../base/arguments.ts'
import { lostInJson } from '../base/json-value.ts'
import type { JsonValue } from '../base/records.ts'
import type { IdOptions } from './options.ts'

/**
 * An id that is the same for every payload with the same content, whatever the order of its fields.
 *
 * @example
 * await once.result(await idOf(order, { prefix: 'order:', fields: ['customer', 'number'] }), () => charge(order))
 */
export async function idOf(payload: JsonValue, options: IdOptions = {}): Promise<string> {
  expectOptions(options, { prefix: 1, fields: 1 })
  const { prefix = '', fields } = options
  if (prefix !== '') expectText('prefix', prefix)
  return `${prefix}${await fingerprintOf(fields === undefined ? payload : pick(payload, fields))}`
}

/** SHA-256 of the payload as canonical JSON; empty without a payload. */
export async function fingerprintOf(payload: JsonValue | undefined): Promise<string> {
  if (payload === undefined) return ''
  const bytes = new TextEncoder().encode(canonical(payload))
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function pick(payload: JsonValue, fields: readonly string[]): JsonValue {
  if (!Array.isArray(fields) || fields.length === 0) refuse('fields', 'an array of names', fields)
  if (!isObject(payload) || Array.isArray(payload)) refuse('payload', 'an object with the fields', payload)
  const given = payload as { readonly [field: string]: JsonValue }
  const missing = fields.filter((field) => given[field] === undefined)
  // Without this, all payloads that lack the field would have one id.
  if (missing.length > 0) refuse('payload', `an object with ${missing.join(', ')}`, payload)
  return Object.fromEntries(fields.map((field) => [field, given[field] as JsonValue]))
}

/** Sorted by the names of fields, so that their order does not count. Values that JSON would change are refused. */
function canonical(payload: unknown): string {
  let text: string | undefined
  try {
    text = JSON.stringify(payload)
  } catch {
    // A cycle or a BigInt.
  }
  const lost = text === undefined ? 'JSON cannot carry it' : lostInJson(payload)
  if (text === undefined || lost) refuse('payload', 'what JSON can carry', payload, lost ?? undefined)
  return JSON.stringify(JSON.parse(text), (_, value) =>
    isObject(value) && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )
}
