/**
 * The text of `project/.lock`: one record a scope.
 *
 *     {"autosave":{"id":"5b2c…","ttlExpiresAt":1794726030000,"mtime":1794726000000}}
 *
 * A record counts until `ttlExpiresAt`. What cannot be read may be the record of a live holder, and counts until the
 * file's last change + TTL.
 */
import type { Content } from '../stores/web/index.ts'
import type { LockScope } from './types.ts'

export const SCOPES: readonly LockScope[] = ['autosave', 'history']
export const TTL_MS = 30_000
/** Stands for the id of a record that cannot be read. */
export const UNREADABLE = 'unreadable'

export interface LockRecord {
  readonly id: string
  readonly ttlExpiresAt: number
  readonly mtime: number
}

/** By scope; also those of scopes that a later version may have. */
export type LockRecords = ReadonlyMap<string, LockRecord>

export function readRecords(content: Content | null, now: number): LockRecords {
  if (!content) return new Map()
  // A clock that was set back must not make anything count for longer than the TTL.
  const mtime = Math.min(content.lastModified, now)
  const unreadable = { id: UNREADABLE, ttlExpiresAt: mtime + TTL_MS, mtime }
  const found = Object.entries(parse(content.text) ?? { file: UNREADABLE })
  const sound = found.filter((entry): entry is [string, LockRecord] => isRecord(entry[1]))
  const records = new Map(sound.map(([scope, record]) => [scope, limit(record, now)]))
  // One record that is none casts doubt on the file: it may have been that of any scope.
  if (sound.length < found.length)
    for (const scope of SCOPES) if (!records.has(scope)) records.set(scope, unreadable)
  return records
}

/** Records that have run out are orphans, and go with the first write. */
export function writeRecords(records: LockRecords, now: number): string {
  return JSON.stringify(Object.fromEntries([...records].filter(([, record]) => isLive(record, now))))
}

export function isLive(record: LockRecord | undefined, now: number): boolean {
  return record !== undefined && now < record.ttlExpiresAt
}

function limit(record: LockRecord, now: number): LockRecord {
  return { ...record, ttlExpiresAt: Math.min(record.ttlExpiresAt, now + TTL_MS) }
}

function parse(text: string): Record<string, unknown> | null {
  try {
    const found: unknown = JSON.parse(text)
    return found instanceof Object && !Array.isArray(found) ? (found as Record<string, unknown>) : null
  } catch {
    return null
  }
}

function isRecord(found: unknown): found is LockRecord {
  const { id, ttlExpiresAt, mtime } = Object(found) as Partial<LockRecord>
  return typeof id === 'string' && Number.isFinite(ttlExpiresAt) && Number.isFinite(mtime)
}
