import { type JsonObject, LeaseError } from '../../core/index.ts'
import type { LeaseRow } from '../lease-row.ts'

/** A row of the table, by its columns. */
export interface StoredRow {
  readonly resource: string
  readonly token: number
  /** `null`: no lease. */
  readonly id: string | null
  readonly owner: string | null
  readonly metadata: string | null
  readonly acquired_at: number | null
  readonly expires_at: number | null
  readonly span: number | null
  readonly ended_at: number
  /** The waiters and the reservation as JSON; `null`: nobody waits. */
  readonly line: string | null
}

type Line = Pick<LeaseRow, 'line' | 'reserved'>

/** Throws a `LeaseError` if the row cannot be understood, so that nothing is granted from it. */
export function decodeRow(stored: StoredRow, now: number): LeaseRow {
  const { resource, token, id, owner, acquired_at, expires_at, span, ended_at } = stored
  const { line, reserved } = decodeLine(stored)
  const row: LeaseRow = { resource, token, lease: null, endedAt: ended_at, line, reserved }
  if (id === null) return row
  if (owner === null || acquired_at === null || expires_at === null || span === null)
    throw corrupt(stored, 'its lease is not complete', 'id')
  row.lease = {
    id,
    owner,
    metadata: decodeMetadata(stored),
    acquiredAt: acquired_at,
    expiresAt: Math.min(expires_at, now + span),
    span,
  }
  return row
}

export function encodeRow({ resource, token, lease, endedAt, line, reserved }: LeaseRow): StoredRow {
  return {
    resource,
    token,
    id: lease ? lease.id : null,
    owner: lease ? lease.owner : null,
    metadata: lease?.metadata ? JSON.stringify(lease.metadata) : null,
    acquired_at: lease ? lease.acquiredAt : null,
    expires_at: lease ? lease.expiresAt : null,
    span: lease ? lease.span : null,
    ended_at: endedAt,
    line: line.length > 0 || reserved ? JSON.stringify({ line, reserved } satisfies Line) : null,
  }
}

function decodeLine(stored: StoredRow): Line {
  if (stored.line === null) return { line: [], reserved: null }
  const value = parse(stored.line)
  if (!isLine(value)) throw corrupt(stored, 'its line of waiters cannot be understood', 'line')
  return value
}

function decodeMetadata(stored: StoredRow): JsonObject | null {
  if (stored.metadata === null) return null
  const value = parse(stored.metadata)
  if (!isObject(value)) throw corrupt(stored, 'its metadata are no JSON object', 'metadata')
  return value as JsonObject
}

function isLine(value: unknown): value is Line {
  if (!isObject(value)) return false
  const { line, reserved } = value
  return Array.isArray(line) && line.every(isWaiter) && (reserved === null || isReservation(reserved))
}

function isWaiter(value: unknown): boolean {
  const { id, channel } = Object(value)
  return typeof id === 'string' && typeof channel === 'string'
}

function isReservation(value: unknown): boolean {
  const { id, until } = Object(value)
  return typeof id === 'string' && typeof until === 'number'
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function corrupt({ resource }: StoredRow, what: string, column: string): LeaseError {
  return new LeaseError(
    'store-failed',
    `the row of ${resource} was damaged or written by another version: ${what}; ` +
      `once nobody works under this lease, set the column ${column} of the row to NULL`,
    { resource },
  )
}
