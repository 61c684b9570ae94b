/** What the procedures answer, as the port wants it. */
import { isObject } from '../../base/arguments.ts'
import { LeaseError } from '../../base/errors.ts'
import type { JsonObject, LeaseRecord } from '../../base/records.ts'
import { decodeShare, isShare } from '../../base/share.ts'
import { type MysqlRow, mysqlText as text } from '../../clients/mysql.ts'
import { MILLISECOND } from './units.ts'

export const LEASE_COLUMNS = 'resource, token, id, owner, metadata, share, acquired_at, expires_at, span'
/** The same of a lease that is in the row of its resource. */
export const ROW_LEASE = LEASE_COLUMNS.replace('share', 'null as share')

/** When a waiter has to repeat its request. */
export interface Wake {
  readonly id: string
  readonly inMs: number
}

/** What a process has to be told. */
export type Message = { readonly seq: number } & (
  | ({ readonly kind: 'wake'; readonly resource: string } & Wake)
  | { readonly kind: 'lost'; readonly id: string; readonly token: number }
  | { readonly kind: 'change'; readonly lease: LeaseRecord }
)

export function messageOf(row: MysqlRow): Message {
  const { resource, id, token, wake_in } = row
  const { seq: number, kind: stored } = row
  const seq = Number(number)
  const kind = text(stored)
  if (kind === 'wake') return { seq, kind, resource: text(resource), id: text(id), inMs: millis(wake_in) }
  if (kind === 'lost') return { seq, kind, id: text(id), token: Number(token) }
  return { seq, kind: 'change', lease: leaseOf({ ...row, state: kind }) }
}

export function leasesIn(rows: readonly MysqlRow[]): {
  readonly held: LeaseRecord[]
  readonly ended: LeaseRecord[]
} {
  const leases = rows.filter(({ state }) => state !== undefined).map(leaseOf)
  return {
    held: leases.filter(({ state }) => state === 'held'),
    ended: leases.filter(({ state }) => state !== 'held'),
  }
}

/** The leases that are live, and those that have ended and keep the resource. */
export function shownIn(rows: readonly MysqlRow[]): LeaseRecord[] {
  return rows.map(shownLease).filter((lease) => lease !== null)
}

/** `null`: it takes no room. */
function shownLease(row: MysqlRow): LeaseRecord | null {
  const { at: clock, acquired_at, expires_at, span: written, at_least, lock_delay, kept_until } = row
  const times = [clock, acquired_at, expires_at, written, at_least, lock_delay].map(Number)
  const [at = 0, acquired = 0, expiry = 0, span = 0, atLeast = 0, lockDelay = 0] = times
  if (kept_until === null && at < Math.min(expiry, at + span)) return leaseOf({ ...row, state: 'held' })
  const byItself = Math.max(expiry + lockDelay, atLeast > 0 ? acquired + atLeast : 0)
  const until = Number(kept_until ?? byItself)
  const kept = { state: 'kept', expires_at: until, span: Math.max(atLeast, lockDelay) }
  return at < until ? leaseOf({ ...row, ...kept }) : null
}

const STATES: readonly string[] = ['held', 'kept', 'released', 'expired', 'taken-over']
/** In these, the lease takes room for a while. */
const TAKING: readonly string[] = ['held', 'kept']

export function leaseOf(row: MysqlRow): LeaseRecord {
  const { resource, id, owner, share, metadata } = row
  const { state: stored, at: clock, token: granted, acquired_at, expires_at, span: written } = row
  const state = text(stored)
  const times = [clock, granted, acquired_at, expires_at, written].map(Number)
  const [at = 0, token = 0, acquiredAt = 0, expiry = 0, span = 0] = times
  const expiresAt = Math.min(expiry, at + span)
  if (!STATES.includes(state) || !times.every(Number.isSafeInteger)) throw unexpected('a lease', row)
  return {
    resource: text(resource),
    id: text(id),
    owner: text(owner),
    token,
    metadata: metadataOf(metadata),
    share: shareOf(share),
    acquiredAt: Math.floor(acquiredAt / MILLISECOND),
    expiresAt: Math.floor(expiresAt / MILLISECOND),
    remaining: TAKING.includes(state) ? Math.max(0, Math.floor((expiresAt - at) / MILLISECOND)) : 0,
    state: state as LeaseRecord['state'],
  }
}

export function numbersIn(answer: unknown): readonly number[] {
  return text(answer).split(' ').map(Number)
}

function metadataOf(stored: unknown): JsonObject | null {
  if (stored === null) return null
  try {
    const metadata: unknown = JSON.parse(text(stored))
    if (isObject(metadata)) return metadata as JsonObject
  } catch {
    // The same as for JSON that is not an object.
  }
  throw unexpected('metadata as a JSON object', text(stored))
}

export function shareOf(stored: unknown): number | null {
  const share = decodeShare(stored === null ? null : Number(stored))
  if (share === null || isShare(share)) return share
  throw unexpected('a share', text(stored))
}

export function millis(microseconds: unknown): number {
  return Math.max(0, Math.ceil(Number(microseconds) / MILLISECOND))
}

export function unexpected(what: string, got: unknown): LeaseError {
  const shown = JSON.stringify(got)?.slice(0, 200)
  return new LeaseError('store-failed', `MySQL: a row is damaged: expected ${what}, got ${shown}`)
}
