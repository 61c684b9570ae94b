import { leaseIdOf, type TelemetryEvent, within } from './event.ts'
import {
  type FIELDS,
  RECORD_VERSION,
  type RecordFields,
  type StreamName,
  type TelemetryRecord,
} from './record.ts'
import { fieldFits, isCode } from './validate.ts'

export interface Encoding {
  readonly source: string
  /** Names that are written as they are. All others are written as pseudonyms. */
  readonly reveal: ReadonlySet<string>
  readonly pseudonym: (name: string) => string
}

/** The line of an event; `undefined` when it has no type that could be one. */
export function encode(
  { source, reveal, pseudonym }: Encoding,
  stream: StreamName,
  event: TelemetryEvent,
  at: string,
  tracked: RecordFields,
): TelemetryRecord | undefined {
  const { type } = event
  if (!isCode(type)) return undefined
  const id = leaseIdOf(event)
  const name = (field: 'resource' | 'owner', value: unknown) =>
    typeof value !== 'string' || value === '' || reveal.has(field) ? value : pseudonym(value)
  const found: Record<keyof typeof FIELDS, unknown> = {
    source,
    lease: id && pseudonym(id),
    resource: name('resource', event.resource ?? event.room_id),
    owner: name('owner', event.owner ?? event.session_id),
    scope: event.scope,
    backend: event.backend ?? within(event.lease, 'backend'),
    strategy: event.strategy,
    operation: event.operation ?? tracked.operation,
    code: within(event.error, 'code') ?? within(event.lastError, 'code'),
    retryable: event.retryable ?? within(event.error, 'retryable'),
    reason: event.reason,
    warning: warningOf(event),
    phase: event.phase,
    attempt: attemptOf(event),
    attempts: event.attempts ?? tracked.attempts,
    token: event.token,
    waitedMs: event.waited ?? tracked.waitedMs,
    delayMs: event.delayMs,
    leftMs: event.left ?? tracked.leftMs,
    heldMs: event.heldFor ?? tracked.heldMs,
    releaseMs: tracked.releaseMs,
    returned: tracked.returned,
  }
  const record: Record<string, unknown> = { v: RECORD_VERSION, at, stream, type }
  for (const field in found) {
    const value = found[field as keyof typeof FIELDS]
    // What does not fit is not the field's: a sentence where a code belongs may be a user's.
    if (value !== undefined && fieldFits(field, value)) record[field] = tidy(value)
  }
  return record as unknown as TelemetryRecord
}

function warningOf(event: TelemetryEvent): unknown {
  if (event.type === 'lock:cleanup-warning') return 'cleanup'
  return event.warning ?? (event.type === 'warning' ? event.code : undefined)
}

function attemptOf({ type, attempt, retry }: TelemetryEvent): unknown {
  // It tells how many came before.
  return type === 'lock:attempt' && typeof retry === 'number' ? retry + 1 : (attempt ?? retry)
}

/** Durations are measured to fractions that nobody reads. A token is too large for the arithmetic. */
function tidy(value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? Math.round(value * 100) / 100 : value
}
