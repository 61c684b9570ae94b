import * as v from 'valibot'
import { HttpError } from './http-error.ts'
import type { HeaderOf } from './request-headers.ts'

/** The content type does not matter, because a beacon sends text. An empty body is an empty object. */
export function parseBody(text: string, depth: number): unknown {
  if (isDeeper(text, depth))
    throw new HttpError(
      400,
      'body_too_deep',
      `expected JSON of at most ${depth} levels of arrays and objects`,
    )
  try {
    return JSON.parse(text || '{}')
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

/**
 * Whether the arrays and objects of a JSON text are nested more deeply. Checked before it is parsed: `JSON.parse` of a
 * megabyte of brackets takes a tenth of a second, and `JSON.stringify` of its result runs out of stack.
 */
export function isDeeper(text: string, max: number): boolean {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at)
    else if (OPENING.includes(code) && ++depth > max) return true
    else if (CLOSING.includes(code)) depth--
  }
  return false
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
  try {
    // The HTTP parser reads no more than the announced length.
    if (header('content-length') !== undefined) return await request.text()
    return await readCounting(request, limit)
  } catch (error) {
    if (error instanceof HttpError) throw error
    throw new HttpError(400, 'invalid_body', 'the body could not be read')
  }
}

async function readCounting(request: Request, limit: number): Promise<string> {
  const decoder = new TextDecoder()
  let bytes = 0
  let text = ''
  for await (const chunk of request.body ?? []) {
    bytes += chunk.length
    if (bytes > limit) throw tooLarge(limit)
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

function tooLarge(limit: number): HttpError {
  return new HttpError(413, 'body_too_large', `expected a body of at most ${limit} bytes`)
}
