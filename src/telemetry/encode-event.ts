/** Turns an event of any part of Holdfast into a record, without the user's names and content. */
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { MAX_REMEMBERED_PSEUDONYMS, PSEUDONYM_BYTES } from './options.ts'
import {
  type FIELDS,
  isCode,
  isValidField,
  RECORD_VERSION,
  type RecordFields,
  type StreamName,
  type TelemetryRecord,
} from './record.ts'

/**
 * All fields of all event types that a record is made from. Every value is checked before it is used. Other fields
 * of an event are ignored.
 */
export interface TelemetryEvent {
  readonly type: string
  /** Milliseconds since 1970, or ISO 8601. */
  readonly at?: unknown
  readonly leaseId?: unknown
  readonly lease?: unknown
  readonly resource?: unknown
  readonly room_id?: unknown
  readonly owner?: unknown
  readonly session_id?: unknown
  readonly scope?: unknown
  readonly backend?: unknown
  readonly strategy?: unknown
  readonly operation?: unknown
  readonly error?: unknown
  readonly lastError?: unknown
  readonly retryable?: unknown
  readonly reason?: unknown
  readonly warning?: unknown
  readonly code?: unknown
  readonly phase?: unknown
  readonly attempt?: unknown
  readonly retry?: unknown
  readonly attempts?: unknown
  readonly token?: unknown
  readonly waited?: unknown
  readonly delayMs?: unknown
  readonly remaining?: unknown
  readonly heldFor?: unknown
  readonly ttlExpiresAt?: unknown
}

export interface EncodeOptions {
  readonly source: string
  /** Fields whose names are written as they are. All other names are written as pseudonyms. */
  readonly reveal: ReadonlySet<string>
  readonly pseudonym: (name: string) => string
  /** Of events that do not name theirs. */
  readonly backend?: string | undefined
}

/** When an event happened, and what the tracker of its stream knows of it. */
interface Observed {
  readonly at: string
  readonly tracked: RecordFields
}

/** The record of an event; `undefined` if the event's type is not a valid code. */
export function encodeEvent(
  { source, reveal, pseudonym, backend }: EncodeOptions,
  stream: StreamName,
  event: TelemetryEvent,
  { at, tracked }: Observed,
): TelemetryRecord | undefined {
  const { type } = event
  if (!isCode(type)) return undefined
  const id = leaseIdOf(event)
  const name = (field: 'resource' | 'owner', value: unknown) =>
    typeof value !== 'string' || value === '' || reveal.has(field) ? value : pseudonym(value)
  const fields: Record<keyof typeof FIELDS, unknown> = {
    source,
    lease: id && pseudonym(id),
    resource: name('resource', event.resource ?? event.room_id),
    owner: name('owner', event.owner ?? event.session_id),
    scope: event.scope,
    backend: event.backend ?? fieldOf(event.lease, 'backend') ?? backend,
    strategy: event.strategy,
    operation: event.operation ?? tracked.operation,
    code: fieldOf(event.error, 'code') ?? fieldOf(event.lastError, 'code'),
    retryable: event.retryable ?? fieldOf(event.error, 'retryable'),
    reason: event.reason,
    warning: warningOf(event),
    phase: event.phase,
    attempt: attemptOf(event),
    attempts: event.attempts ?? tracked.attempts,
    token: event.token,
    waitedMs: event.waited ?? tracked.waitedMs,
    delayMs: event.delayMs,
    leftMs: event.remaining ?? tracked.leftMs,
    heldMs: event.heldFor ?? tracked.heldMs,
    releaseMs: tracked.releaseMs,
    returned: tracked.returned,
    held: tracked.held,
  }
  const record: Record<string, unknown> = { v: RECORD_VERSION, at, stream, type }
  for (const field in fields) {
    const value = fields[field as keyof typeof FIELDS]
    // An invalid value is left out: a sentence in place of a code may be a user's text.
    if (value !== undefined && isValidField(field, value)) record[field] = rounded(value)
  }
  return record as unknown as TelemetryRecord
}

/** The field of a value that may be an object. */
export function fieldOf(value: unknown, field: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[field] : undefined
}

export function leaseIdOf({ leaseId, lease }: TelemetryEvent): string | undefined {
  const id = leaseId ?? fieldOf(lease, 'id')
  return typeof id === 'string' ? id : undefined
}

function warningOf(event: TelemetryEvent): unknown {
  if (event.type === 'lock:cleanup-warning') return 'cleanup'
  return event.warning ?? (event.type === 'warning' ? event.code : undefined)
}

function attemptOf({ type, attempt, retry }: TelemetryEvent): unknown {
  // `retry` counts the attempts before this one.
  return type === 'lock:attempt' && typeof retry === 'number' ? retry + 1 : (attempt ?? retry)
}

/** Durations get two decimals. Whole numbers stay as they are: a token is too large to multiply. */
function rounded(value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? Math.round(value * 100) / 100 : value
}

/**
 * Replaces names by salted hashes: the same salt and name always give the same 16 hexadecimal digits. The hash is
 * synchronous, unlike Web Crypto's, because records must be complete at once when the process exits.
 */
export function createPseudonyms(salt: string): (name: string) => string {
  const cache = new Map<string, string>()
  return (name) => {
    const cached = cache.get(name)
    if (cached !== undefined) return cached
    if (cache.size >= MAX_REMEMBERED_PSEUDONYMS) cache.clear()
    const pseudonym = bytesToHex(sha256(utf8ToBytes(`${salt}\0${name}`)).subarray(0, PSEUDONYM_BYTES))
    cache.set(name, pseudonym)
    return pseudonym
  }
}
