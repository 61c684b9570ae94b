import { MAX_NAME_LENGTH } from './options.ts'

/**
 * One line of telemetry: its fields, its checks and its JSON Schema. A record contains everything that an analysis
 * needs from an event, also values that only the collector knows (how long the wait was, how much TTL was left).
 * So records can be read in any order and from any number of files. No field contains free text: only codes,
 * counts, durations and hashes.
 */
export const RECORD_VERSION = 1

export const STREAMS = ['lease', 'project', 'autosave', 'document', 'sync'] as const
export type StreamName = (typeof STREAMS)[number]

/** The optional fields of a record and the kind of each. The order is the order in a line. */
export const FIELDS = {
  /** Names the collector that wrote the record: a process or a page. */
  source: 'code',
  /** The lease's id, hashed: everybody who knows an id can end its lease. */
  lease: 'code',
  resource: 'name',
  owner: 'name',
  scope: 'code',
  backend: 'code',
  strategy: 'code',
  operation: 'code',
  /** The code of an error. */
  code: 'code',
  retryable: 'flag',
  reason: 'code',
  warning: 'code',
  phase: 'code',
  /** The number of this attempt of an acquire, from 1. */
  attempt: 'count',
  /** How many attempts an acquire took until it ended. */
  attempts: 'count',
  token: 'count',
  /** From the call to the end of the acquire. */
  waitedMs: 'duration',
  /** The pause before the next attempt. */
  delayMs: 'duration',
  /** The rest of the TTL at a successful renewal. */
  leftMs: 'duration',
  heldMs: 'duration',
  /** From the request to release until the release was complete. */
  releaseMs: 'duration',
  /** This grant ended the read-only mode. */
  returned: 'flag',
  /** The acquire was refused because another tab holds the lock. */
  held: 'flag',
} as const satisfies Record<string, FieldKind>

type FieldKind = 'code' | 'name' | 'flag' | 'count' | 'duration'

export type RecordFields = {
  readonly [F in keyof typeof FIELDS]?: {
    code: string
    name: string
    flag: boolean
    count: number
    duration: number
  }[(typeof FIELDS)[F]]
}

export interface TelemetryRecord extends RecordFields {
  readonly v: typeof RECORD_VERSION
  /** ISO 8601, UTC, milliseconds. */
  readonly at: string
  readonly stream: StreamName
  /** The type of the event, such as `lock:acquired`. */
  readonly type: string
}

/** A code is short and has few kinds of characters, so that no sentence of a user fits into one. */
const CODE = /^[A-Za-z0-9][\w:.+-]{0,63}$/
const TIME = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/

const kindChecks: Record<FieldKind, (value: unknown) => boolean> = {
  code: isCode,
  name: (value) => typeof value === 'string' && value !== '' && value.length <= MAX_NAME_LENGTH,
  flag: (value) => typeof value === 'boolean',
  count: (value) => Number.isSafeInteger(value) && (value as number) >= 0,
  duration: (value) => Number.isFinite(value) && (value as number) >= 0,
}
const fieldChecks = new Map<string, (value: unknown) => boolean>(
  Object.entries(FIELDS).map(([field, kind]) => [field, kindChecks[kind]]),
)
const streams: ReadonlySet<unknown> = new Set(STREAMS)

export function isCode(value: unknown): value is string {
  return typeof value === 'string' && CODE.test(value)
}

/** Whether a text that begins with a date names a day that exists. `Date` takes 30 February for 2 March. */
export function hasRealDay(text: string): boolean {
  const day = Number(text.slice(8, 10))
  return (
    day <= 28 || day <= new Date(Date.UTC(Number(text.slice(0, 4)), Number(text.slice(5, 7)), 0)).getUTCDate()
  )
}

export function isValidField(field: string, value: unknown): boolean {
  return fieldChecks.get(field)?.(value) ?? false
}

/**
 * Unknown fields are allowed: a later version may have added them.
 *
 * @example
 * const records = lines.map((line) => JSON.parse(line)).filter(isRecord)
 */
export function isRecord(value: unknown): value is TelemetryRecord {
  if (typeof value !== 'object' || value === null) return false
  const { v, at, stream, type } = value as Record<string, unknown>
  if (
    v !== RECORD_VERSION ||
    typeof at !== 'string' ||
    !TIME.test(at) ||
    !hasRealDay(at) ||
    !streams.has(stream) ||
    !isCode(type)
  )
    return false
  for (const field in value) {
    const check = fieldChecks.get(field)
    if (check && !check((value as Record<string, unknown>)[field])) return false
  }
  return true
}

/** Whether a newer version of Holdfast wrote the record. */
export function isNewerRecord(value: unknown): boolean {
  const { v } = Object(value) as { readonly v?: unknown }
  return typeof v === 'number' && v > RECORD_VERSION
}

/** A copy that has only the known fields, in their order. */
export function onlyKnownFields(record: TelemetryRecord): TelemetryRecord {
  const { v, at, stream, type } = record
  const fields = [...fieldChecks.keys()].flatMap((field) => {
    const value = record[field as keyof TelemetryRecord]
    return value === undefined ? [] : [[field, value]]
  })
  return { v, at, stream, type, ...Object.fromEntries(fields) }
}

/** The lines of a file: one JSON object per line, each with a line break. */
export function toLines(records: readonly TelemetryRecord[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('')
}

/** The value of a line; `undefined`: it is not JSON. */
export function parseLine(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

const kindSchemas: Record<FieldKind, object> = {
  code: { type: 'string', pattern: CODE.source },
  name: { type: 'string', minLength: 1, maxLength: MAX_NAME_LENGTH },
  flag: { type: 'boolean' },
  count: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
  duration: { type: 'number', minimum: 0 },
}

/** The JSON Schema of a record, published as `docs/telemetry.schema.json`. */
export const recordSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'One line of Holdfast telemetry',
  type: 'object',
  required: ['v', 'at', 'stream', 'type'],
  properties: {
    v: { const: RECORD_VERSION },
    at: { type: 'string', format: 'date-time', pattern: TIME.source },
    stream: { enum: STREAMS },
    type: kindSchemas.code,
    ...Object.fromEntries(Object.entries(FIELDS).map(([field, kind]) => [field, kindSchemas[kind]])),
  },
}
