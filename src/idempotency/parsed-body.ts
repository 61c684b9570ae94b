/** The body of a request of Node, which a parser has read before. */
import { isObject } from '../base/arguments.ts'
import type { JsonValue } from '../base/records.ts'
import { payloadOf } from './fetch-messages.ts'
import { Refusal } from './problems.ts'

export type NodeHeaders = Readonly<Record<string, string | readonly string[] | number | undefined>>

export interface ParsedRequest {
  readonly headers: NodeHeaders
  readonly httpVersionMajor?: number | undefined
  /** Whether anybody has read from the stream. */
  readonly readableDidRead?: boolean | undefined
  readonly body?: unknown
  /** Its bytes, if the platform keeps them. */
  readonly rawBody?: unknown
}

/** What of the body is compared. */
export async function parsedBody(request: ParsedRequest, limit: number): Promise<JsonValue> {
  const { headers, body, rawBody = body } = request
  const length = Number(headers['content-length'])
  if (length > limit) throw new Refusal('idempotency_body_too_large')
  if (rawBody instanceof Uint8Array || typeof rawBody === 'string') {
    const bytes = typeof rawBody === 'string' ? new TextEncoder().encode(rawBody) : rawBody.slice()
    if (bytes.length > limit) throw new Refusal('idempotency_body_too_large')
    return payloadOf(bytes)
  }
  if (isWithoutBody(request)) return null
  // The files of a multipart body are elsewhere, or not read yet.
  const isComplete =
    !/^multipart\//i.test(String(headers['content-type'])) && request.readableDidRead !== false
  if (!isComplete || !(isObject(body) || Array.isArray(body) || isPlain(body)))
    throw new Refusal('idempotency_body_not_read')
  // A copy, because parsers of forms return objects without a prototype.
  return JSON.parse(JSON.stringify(body))
}

function isWithoutBody({ headers, httpVersionMajor = 1 }: ParsedRequest): boolean {
  const length = headers['content-length']
  if (length !== undefined) return Number(length) === 0
  return headers['transfer-encoding'] === undefined && httpVersionMajor < 2
}

/** What a JSON body may be, beside an object or a list. */
function isPlain(body: unknown): boolean {
  return body === null || ['number', 'boolean'].includes(typeof body)
}

export function keyIn(headers: NodeHeaders): string | null {
  const key = headers['idempotency-key']
  // Several headers are a list, which is malformed.
  return key === undefined ? null : String(key)
}

/** Names in lower case. A header with several values has one entry for each. */
export function headerPairs(headers: NodeHeaders): [string, string][] {
  return Object.entries(headers).flatMap(([name, value]) =>
    value === undefined
      ? []
      : [value].flat().map((each): [string, string] => [name.toLowerCase(), String(each)]),
  )
}

/** The headers of an answer with one entry for each name, as Node takes them. */
export function headerValues(headers: readonly (readonly [string, string])[]): [string, string | string[]][] {
  const values = Map.groupBy(headers, ([name]) => name)
  return Array.from(values, ([name, pairs]) => {
    const each = pairs.map(([, value]) => value)
    return [name, each.length === 1 ? (each[0] as string) : each]
  })
}
