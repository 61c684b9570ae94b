/** The values of the keys, as JSON, and how they are read back. */
import { isObject, isWhole } from '../../base/arguments.ts'
import { LeaseError } from '../../base/errors.ts'
import type { JsonObject, LeaseRecord } from '../../base/records.ts'
import { decodeShare, encodeShare, isShare } from '../../base/share.ts'
import type { EtcdEntry } from '../../clients/etcd.ts'
import type { Ask } from '../../core/index.ts'

const VERSION = 1

export interface StoredLease {
  readonly id: string
  readonly owner: string
  readonly metadata: JsonObject | null
  readonly share: number | null
  /** By the clock of the process that was granted the lease. Only shown to people. */
  readonly acquiredAt: number
  /** In seconds, as it was asked for. */
  readonly ttl: number
  /** The etcd lease of its `k` key by `lockDelay`, and the delay in seconds. */
  readonly delay?: KeepingLease
  /** The same by `atLeast`. Missing in leases of earlier versions. */
  readonly least?: KeepingLease
}

/** The etcd lease of a key that keeps the resource, and how long it does after the lease has expired or was granted. */
export interface KeepingLease {
  readonly lease: string
  readonly seconds: number
}

export interface StoredWaiter {
  readonly id: string
  readonly owner: string
  readonly share: number | null
}

/** A lease as it is stored, with its key. */
export interface Stored<T> {
  readonly entry: EtcdEntry
  readonly value: T
}

export function encodeLease(lease: StoredLease): string {
  return JSON.stringify({ version: VERSION, ...lease, share: encodeShare(lease.share) })
}

export function encodeWaiter({ id, owner, share }: Ask): string {
  return JSON.stringify({ version: VERSION, id, owner, share: encodeShare(share) })
}

/** Throws if the value is not ours: a resource must not be granted while its leases cannot be read. */
export function decodeLease(entry: EtcdEntry): Stored<StoredLease> {
  const value = decode(entry)
  const { id, owner, metadata, acquiredAt, ttl, delay, least } = value
  const isLease =
    typeof id === 'string' &&
    typeof owner === 'string' &&
    (metadata === null || isObject(metadata)) &&
    Number.isFinite(acquiredAt) &&
    isWhole(ttl, 1, Number.MAX_SAFE_INTEGER) &&
    [delay, least].every((keeping) => keeping === undefined || hasLease(keeping))
  if (!isLease) throw unreadable(entry)
  return { entry, value: value as unknown as StoredLease }
}

/** For code that looks at many resources: `null` instead of an error. */
export function readableLease(entry: EtcdEntry): Stored<StoredLease> | null {
  try {
    return decodeLease(entry)
  } catch {
    return null
  }
}

export function decodeWaiter(entry: EtcdEntry): Stored<StoredWaiter> {
  const value = decode(entry)
  const { id, owner } = value
  if (typeof id !== 'string' || typeof owner !== 'string') throw unreadable(entry)
  return { entry, value: value as unknown as StoredWaiter }
}

/** The whole seconds that etcd counts in. */
export function secondsOf(ms: number): number {
  return Math.ceil(ms / 1000)
}

/** `remaining`: in seconds, at most the TTL. Its expiry is shown by the clock of the caller, because etcd has none that can be read. */
export function recordOf(
  resource: string,
  lease: Stored<StoredLease>,
  remaining: number,
  now: number,
): LeaseRecord {
  const left = Math.min(remaining, lease.value.ttl) * 1000
  return { ...identityOf(resource, lease), expiresAt: now + left, remaining: left, state: 'held' }
}

/** Of a lease that has no time left. */
export function endedRecordOf(
  resource: string,
  lease: Stored<StoredLease>,
  state: Exclude<LeaseRecord['state'], 'held'>,
  now: number,
): LeaseRecord {
  return { ...identityOf(resource, lease), expiresAt: now, remaining: 0, state }
}

function identityOf(resource: string, { entry, value }: Stored<StoredLease>) {
  const { id, owner, metadata, share, acquiredAt } = value
  return { resource, id, owner, token: tokenOf(entry), metadata, share, acquiredAt }
}

/** Of a lease that has ended: how long it still keeps the resource, in milliseconds. */
export function keptRecordOf(
  resource: string,
  lease: Stored<StoredLease>,
  left: number,
  now: number,
): LeaseRecord {
  const { delay, least } = lease.value
  const longest = Math.max(delay?.seconds ?? 0, least?.seconds ?? 0) * 1000
  const remaining = Math.min(left, longest || Infinity)
  return { ...endedRecordOf(resource, lease, 'kept', now), expiresAt: now + remaining, remaining }
}

/** The revision of the grant: an `l` key was created by it, and an `e` key was last written by it. */
export function tokenOf(entry: EtcdEntry): number {
  return entry.lease === '0' ? entry.modified : entry.created
}

function hasLease(keeping: unknown): boolean {
  const { lease, seconds } = Object(keeping) as Partial<KeepingLease>
  return typeof lease === 'string' && isWhole(seconds, 0, Number.MAX_SAFE_INTEGER)
}

function decode(entry: EtcdEntry): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(entry.value)
    const { version, share: stored } = Object(value) as {
      readonly version?: unknown
      readonly share?: unknown
    }
    const share = decodeShare(stored as number | null)
    if (isObject(value) && version === VERSION && (share === null || isShare(share)))
      return { ...value, share }
  } catch {
    // The same as for JSON that is not ours.
  }
  throw unreadable(entry)
}

function unreadable({ key }: EtcdEntry): LeaseError {
  const shown = JSON.stringify(key)
  return new LeaseError(
    'store-failed',
    `etcd: ${shown} is damaged or of another version; it was left as it is`,
  )
}
