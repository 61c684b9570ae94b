/**
 * The text of `project/.lock`: one record for each scope.
 *
 *     {"autosave":{"id":"5b2c…","ttlExpiresAt":1794726030000,"mtime":1794726000000}}
 *
 * A record is live until `ttlExpiresAt`. An unreadable record may belong to a live holder, so it counts as live until
 * the file's last change + TTL.
 */
import type { Content } from '../stores/browser/gated-file.ts'
import type { LockFileTools } from './lock-file-store.ts'

export interface LockRecord {
  readonly id: string
  readonly ttlExpiresAt: number
  readonly mtime: number
}

/** By scope, including scopes that only later versions know. */
export type LockRecords = Readonly<Record<string, LockRecord>>

export function readRecords(
  { SCOPES, TTL_MS, UNREADABLE }: Pick<LockFileTools, 'SCOPES' | 'TTL_MS' | 'UNREADABLE'>,
  content: Content | null,
  now: number,
): LockRecords {
  // Without a prototype, a scope of the name `__proto__` is one of many.
  const records: Record<string, LockRecord> = Object.create(null)
  if (!content) return records
  let isValid: boolean
  try {
    const found: unknown = JSON.parse(content.text)
    isValid = Object.prototype.toString.call(found) === '[object Object]'
    for (const [scope, record] of Object.entries(Object(found)))
      if (isRecord(record))
        records[scope] = { ...record, ttlExpiresAt: Math.min(record.ttlExpiresAt, now + TTL_MS) }
      else isValid = false
  } catch {
    isValid = false
  }
  // One malformed record makes the whole file doubtful: it may have been the record of any scope.
  const mtime = Math.min(content.lastModified, now)
  const id = `${UNREADABLE}is unreadable: held until ${TTL_MS / 1000} s after its last change`
  if (!isValid) for (const scope of SCOPES) records[scope] ??= { id, ttlExpiresAt: mtime + TTL_MS, mtime }
  return records
}

export function isLive(record: LockRecord | null | undefined, now: number): record is LockRecord {
  return !!record && now < record.ttlExpiresAt
}

function isRecord(found: unknown): found is LockRecord {
  const { id, ttlExpiresAt, mtime } = Object(found) as Partial<LockRecord>
  return !!id && typeof id === 'string' && Number.isFinite(ttlExpiresAt) && Number.isFinite(mtime)
}
