/**
 * The text of `project/.lock`: one record a scope.
 *
 *     {"autosave":{"id":"5b2c…","ttlExpiresAt":1794726030000,"mtime":1794726000000}}
 *
 * A record counts until `ttlExpiresAt`. What cannot be read may be the record of a live holder, and counts until the
 * file's last change + TTL.
 */
import { type Content, REMOVAL_MS } from '../stores/browser/index.ts'
import type { LockScope } from './types.ts'

export const SCOPES: readonly LockScope[] = ['autosave', 'history']
export const TTL_MS = 30_000
/** Begins the id of a record that belongs to nobody: whoever wrote it is about to remove the file. */
export const LEAVING = 'leaving:'
/** Stands for the id of a record that cannot be read. */
export const UNREADABLE = 'unreadable'

export interface LockRecord {
  readonly id: string
  readonly ttlExpiresAt: number
  readonly mtime: number
}

/** By scope; also those of scopes that a later version may have. */
export type LockRecords = Readonly<Record<string, LockRecord>>

export function readRecords(content: Content | null, now: number): LockRecords {
  const records: Record<string, LockRecord> = {}
  if (!content) return records
  let isSound: boolean
  try {
    const found: unknown = JSON.parse(content.text)
    isSound = found instanceof Object
    for (const [scope, record] of Object.entries(found as object))
      if (isRecord(record)) {
        const longest = record.id.startsWith(LEAVING) ? REMOVAL_MS : TTL_MS
        records[scope] = { ...record, ttlExpiresAt: Math.min(record.ttlExpiresAt, now + longest) }
      } else isSound = false
  } catch {
    isSound = false
  }
  // One record that is none casts doubt on the file: it may have been that of any scope.
  const mtime = Math.min(content.lastModified, now)
  if (!isSound)
    for (const scope of SCOPES) records[scope] ??= { id: UNREADABLE, ttlExpiresAt: mtime + TTL_MS, mtime }
  return records
}

export function isLive(record: LockRecord | null | undefined, now: number): record is LockRecord {
  return !!record && now < record.ttlExpiresAt
}

function isRecord(found: unknown): found is LockRecord {
  const { id, ttlExpiresAt, mtime } = Object(found) as Partial<LockRecord>
  return typeof id === 'string' && Number.isFinite(ttlExpiresAt) && Number.isFinite(mtime)
}
