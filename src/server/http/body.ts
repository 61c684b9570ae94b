import * as v from 'valibot'
import { SHOWN_NUMBER_LENGTH } from '../options.ts'
import { HttpError } from './http-error.ts'
import type { HeaderOf } from './request-headers.ts'

/** The content type does not matter, because a beacon sends text. An empty body is an empty object. */
export function parseBody(text: string, depth: number): unknown {
  const flaw = flawOf(text, depth)
  if (flaw === 'too deep')
    throw new HttpError(
      400,
      'body_too_deep',
      `expected JSON of at most ${depth} levels of arrays and objects`,
    )
  if (flaw)
    throw new HttpError(
      400,
      'inexact_number',
      `${flaw.number.slice(0, SHOWN_NUMBER_LENGTH)} would be changed to ${Number(flaw.number)}; send it as a string`,
    )
  const value = parseJson(text || '{}')
  // A schema of objects lets arrays through.
  if (Array.isArray(value)) throw new HttpError(400, 'invalid_body', 'expected an object, got an array')
  return value
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new HttpError(400, 'invalid_json', 'the body is not JSON')
  }
}

export async function readForm(
  request: Request,
  header: HeaderOf,
  limit: number,
): Promise<Record<string, string>> {
  return Object.fromEntries(new URLSearchParams(await readText(request, header, limit)))
}

export function refuseIfTooLarge(header: HeaderOf, limit: number): void {
  if (Number(header('content-length') ?? 0) > limit) throw tooLarge(limit)
}

export function validated<Schema extends v.GenericSchema>(
  schema: Schema,
  value: unknown,
  code: 'invalid_body' | 'invalid_query' = 'invalid_body',
): v.InferOutput<Schema> {
  const result = v.safeParse(schema, value, { abortEarly: true })
  if (result.success) return result.output
  const [issue] = result.issues
  const where = v.getDotPath(issue)
  throw new HttpError(400, code, where === null ? issue.message : `${where}: ${issue.message}`)
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPENING = [0x5b, 0x7b]
const CLOSING = [0x5d, 0x7d]
const MINUS = 0x2d
const [ZERO, NINE] = [0x30, 0x39]

/**
 * What a JSON text contains that must not be parsed; `null`: nothing. Arrays and objects that are nested more deeply:
 * `JSON.parse` of a megabyte of brackets takes a tenth of a second, and `JSON.stringify` of its result runs out of
 * stack. A number that `JSON.parse` would change.
 */
export function flawOf(text: string, maxDepth: number): 'too deep' | { readonly number: string } | null {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at)
    else if (OPENING.includes(code) && ++depth > maxDepth) return 'too deep'
    else if (CLOSING.includes(code)) depth--
    else if (code === MINUS || (code >= ZERO && code <= NINE)) {
      const number = numberAt(text, at)
      if (!isKept(number)) return { number }
      at += number.length - 1
    }
  }
  return null
}

const NUMBER = /-?\d*(\.\d+)?(e[+-]?\d+)?/iy
/** A number of up to this many characters, and without an exponent, never changes when it is parsed. */
const SURELY_KEPT = 15
/** With this number of digits every double differs from its neighbours. Programs write up to as many. */
const DOUBLE_DIGITS = 17

function numberAt(text: string, at: number): string {
  NUMBER.lastIndex = at
  return NUMBER.exec(text)?.[0] ?? ''
}

/** Whether the number means the same after it was parsed and written again. */
function isKept(number: string): boolean {
  if (number.length <= SURELY_KEPT && !/e/i.test(number)) return true
  const [sent, kept] = [decimalOf(number), decimalOf(String(Number(number)))]
  if (sent.digits === kept.digits && (sent.exponent === kept.exponent || sent.digits === '')) return true
  const isInteger = sent.exponent === 0 || !/[.e]/i.test(number)
  return !isInteger && kept.digits !== '' && sent.digits.length <= DOUBLE_DIGITS
}

/** The significant digits of a number, and the power of ten by which they are multiplied. */
function decimalOf(number: string): { readonly digits: string; readonly exponent: number } {
  const [, whole = '', fraction = '', power = '0'] =
    /^-?(\d*)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(number) ?? []
  const all = `${whole}${fraction}`.replace(/^0+/, '')
  // Not by a pattern, whose time would grow with the square of the zeros.
  let length = all.length
  while (all[length - 1] === '0') length--
  return { digits: all.slice(0, length), exponent: Number(power) - fraction.length + all.length - length }
}

/** The position of the closing quote, or the end of the text. */
function endOfString(text: string, start: number): number {
  let end = start
  do {
    end = text.indexOf('"', end + 1)
    if (end < 0) return text.length
  } while (isEscaped(text, end))
  return end
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0
  while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++
  return backslashes % 2 === 1
}

export async function readText(request: Request, header: HeaderOf, limit: number): Promise<string> {
  refuseIfTooLarge(header, limit)
  if ((header('content-encoding') ?? 'identity').toLowerCase() !== 'identity')
    throw new HttpError(
      415,
      'unsupported_encoding',
      'Content-Encoding: expected a body that is not compressed',
    )
  const bytes = await readBytes(request, header, limit).catch((error: unknown) => {
    if (error instanceof HttpError) throw error
    throw new HttpError(400, 'invalid_body', 'the body could not be read')
  })
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new HttpError(400, 'invalid_body', 'the body is not UTF-8')
  }
}

async function readBytes(request: Request, header: HeaderOf, limit: number): Promise<BufferSource> {
  // The HTTP parser reads no more than the announced length.
  if (header('content-length') !== undefined) return request.arrayBuffer()
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of request.body ?? []) {
    length += chunk.length
    if (length > limit) throw tooLarge(limit)
    chunks.push(chunk)
  }
  return new Blob(chunks as BlobPart[]).arrayBuffer()
}

function tooLarge(limit: number): HttpError {
  return new HttpError(413, 'body_too_large', `expected a body of at most ${limit} bytes`, {
    details: { limit },
  })
}
