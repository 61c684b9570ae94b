/** An answer, and how it is stored for later requests with the same key. */

import { isObject, isWhole } from '../base/arguments.ts'
import type { JsonValue } from '../base/records.ts'
import { BASE64_CHUNK_BYTES } from './options.ts'

export interface Answer {
  readonly status: number
  /** Names in lower case. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Uint8Array<ArrayBuffer>
}

/** Why the body of an answer is not stored. */
export type NotStored = 'stream' | 'too-large'

export interface FinishedAnswer extends Omit<Answer, 'body'> {
  readonly body: Answer['body'] | NotStored
}

/** What is stored: text as it is, so that a person can read it, and other bytes as base64. */
export function encodeAnswer({ status, headers, body }: FinishedAnswer): JsonValue {
  if (typeof body === 'string') return { status, notStored: body }
  const text = textOf(body)
  return {
    status,
    // Objects, because Firestore has no arrays in arrays.
    headers: headers.map(([name, value]) => ({ name, value })),
    ...(text === null ? { base64: base64Of(body) } : { text }),
  }
}

/** `null`: there is no answer in it that could be sent again. */
export function decodeAnswer(stored: JsonValue): Answer | null {
  const { status, headers, text, base64 } = Object(stored) as Readonly<Record<string, unknown>>
  if (!isWhole(status, 200, 599) || !Array.isArray(headers)) return null
  if (typeof text !== 'string' && typeof base64 !== 'string') return null
  const pairs = headers.filter(isObject).map(({ name, value }) => [String(name), String(value)] as const)
  const body = typeof text === 'string' ? new TextEncoder().encode(text) : bytesOf(base64 as string)
  return { status, headers: pairs, body }
}

/** `null` if the bytes are not UTF-8, or have a NUL, which a `jsonb` column of Postgres cannot store. */
function textOf(bytes: Uint8Array): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return text.includes('\0') ? null : text
  } catch {
    return null
  }
}

export function base64Of(bytes: Uint8Array): string {
  let binary = ''
  for (let at = 0; at < bytes.length; at += BASE64_CHUNK_BYTES)
    binary += String.fromCharCode(...bytes.subarray(at, at + BASE64_CHUNK_BYTES))
  return btoa(binary)
}

function bytesOf(base64: string): Answer['body'] {
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
}
