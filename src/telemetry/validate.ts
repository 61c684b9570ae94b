import { FIELDS, type FieldKind, RECORD_VERSION, STREAMS, type TelemetryRecord } from './record.ts'

/** Codes are short and of few characters, so that no sentence of a user's fits into one. */
const CODE = /^[A-Za-z0-9][\w:.+-]{0,63}$/
const TIME = /^\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\d\.\d{3}Z$/
const MAX_NAME_LENGTH = 512

const fits: Record<FieldKind, (value: unknown) => boolean> = {
  code: isCode,
  name: (value) => typeof value === 'string' && value !== '' && value.length <= MAX_NAME_LENGTH,
  flag: (value) => typeof value === 'boolean',
  count: (value) => Number.isSafeInteger(value) && (value as number) >= 0,
  duration: (value) => Number.isFinite(value) && (value as number) >= 0,
}
const checks = new Map<string, (value: unknown) => boolean>(
  Object.entries(FIELDS).map(([field, kind]) => [field, fits[kind]]),
)
const streams: ReadonlySet<unknown> = new Set(STREAMS)

export function isCode(value: unknown): value is string {
  return typeof value === 'string' && CODE.test(value)
}

/** Whether the field may have this value. */
export function fieldFits(field: string, value: unknown): boolean {
  return checks.get(field)?.(value) ?? false
}

/** Fields that this version does not know are allowed: a later one may have added them. */
export function isRecord(value: unknown): value is TelemetryRecord {
  if (typeof value !== 'object' || value === null) return false
  const { v, at, stream, type } = value as Record<string, unknown>
  if (
    v !== RECORD_VERSION ||
    typeof at !== 'string' ||
    !TIME.test(at) ||
    !streams.has(stream) ||
    !isCode(type)
  )
    return false
  for (const field in value) {
    const check = checks.get(field)
    if (check && !check((value as Record<string, unknown>)[field])) return false
  }
  return true
}

/** Whether the line was written by a version that is newer than this one. */
export function isNewerRecord(value: unknown): boolean {
  return Number((value as { v?: unknown } | null)?.v) > RECORD_VERSION
}

/** A copy with the known fields only, in their order. */
export function onlyKnownFields(record: TelemetryRecord): TelemetryRecord {
  const { v, at, stream, type } = record
  const fields = [...checks.keys()].flatMap((field) => {
    const value = record[field as keyof TelemetryRecord]
    return value === undefined ? [] : [[field, value]]
  })
  return { v, at, stream, type, ...Object.fromEntries(fields) }
}

const kindSchemas: Record<FieldKind, object> = {
  code: { type: 'string', pattern: CODE.source },
  name: { type: 'string', minLength: 1, maxLength: MAX_NAME_LENGTH },
  flag: { type: 'boolean' },
  count: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
  duration: { type: 'number', minimum: 0 },
}

/** The JSON Schema of one line, as it is published in `docs/telemetry.schema.json`. */
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
