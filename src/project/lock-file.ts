/**
 * The text of `project/.lock`: one record for each scope.
 *
 *     {"autosave":{"id":"5b2c…","ttlExpiresAt":1794726030000,"mtime":1794726000000}}
 *
 * A record is live until `ttlExpiresAt`. An unreadable record may belong to a live holder, so it counts as live until
 * the file's last change + TTL.
 */
import { isObject } from '../base/arguments.ts'
import type { LeaseRecord } from '../base/records.ts'
import type { Content } from '../stores/browser/index.ts'
import type { LockScope } from './types.ts'

export const SCOPES: readonly LockScope[] = ['autosave', 'history']
export const TTL_MS = 30_000
/** The id for a record that cannot be read. */
export const UNREADABLE = 'unreadable'

export interface LockRecord {
  readonly id: string
  readonly ttlExpiresAt: number
  readonly mtime: number
}

/** By scope, including scopes that only later versions know. */
export type LockRecords = Readonly<Record<string, LockRecord>>

export function readRecords(content: Content | null, now: number): LockRecords {
  const records: Record<string, LockRecord> = {}
  if (!content) return records
  let isValid: boolean
  try {
    const found: unknown = JSON.parse(content.text)
    isValid = isObject(found)
    for (const [scope, record] of Object.entries(Object(found)))
      if (isRecord(record))
        records[scope] = { ...record, ttlExpiresAt: Math.min(record.ttlExpiresAt, now + TTL_MS) }
      else isValid = false
  } catch {
    isValid = false
  }
  // One malformed record makes the whole file doubtful: it may have been the record of any scope.
  const mtime = Math.min(content.lastModified, now)
  if (!isValid)
    for (const scope of SCOPES) records[scope] ??= { id: UNREADABLE, ttlExpiresAt: mtime + TTL_MS, mtime }
  return records
}

export function isLive(record: LockRecord | null | undefined, now: number): record is LockRecord {
  return !!record && now < record.ttlExpiresAt
}

function isRecord(found: unknown): found is LockRecord {
  const { id, ttlExpiresAt, mtime } = Object(found) as Partial<LockRecord>
  return !!id && typeof id === 'string' && Number.isFinite(ttlExpiresAt) && Number.isFinite(mtime)
}

/** A lease as the core sees it. The lock has no token, so the time of the grant or of the last change serves as one. */
export function describe(
  resource: string,
  by: Pick<LeaseRecord, 'id' | 'owner'>,
  acquiredAt: number,
  expiresAt: number | null = null,
  remaining: number | null = null,
): LeaseRecord {
  const state = remaining === 0 ? 'expired' : 'held'
  return {
    resource,
    ...by,
    token: acquiredAt * 1000,
    metadata: null,
    share: null,
    acquiredAt,
    expiresAt,
    remaining,
    state,
  }
}
