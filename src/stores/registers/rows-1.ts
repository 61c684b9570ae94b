/**
 * The registers of version 1, which knew exclusive leases only, in the terms of the current version. A process of
 * version 1 refuses to read what we write.
 */
import { isObject } from '../../base/arguments.ts'
import { newRow, type StoredLease } from '../lease-row.ts'
import { decodeLease } from '../stored-lease.ts'
import type { StoredWrite } from './rows.ts'

/** For a lease that its write has ended: nothing is left of it that a clock could lengthen. */
const NO_LIMIT = Number.MAX_SAFE_INTEGER

/** `null`: damaged, or not a lease. */
export function decodeVersion1(resource: string, value: Record<string, unknown>): StoredWrite | null {
  const { type, lease, span, ttl, floor, replaced } = value
  switch (type) {
    case 'grant': {
      const earlier = replaced === null ? null : leaseOf(replaced, NO_LIMIT)
      const granted = leaseOf({ ...value, token: floor, acquiredAt: 0, expiresAt: 0 }, ttl)
      if (!granted || (!earlier && replaced !== null)) return null
      const { id, owner, metadata, token, span } = granted
      const before = rowWith(resource, token, earlier ? [earlier] : [])
      return {
        before,
        type: 'acquire',
        intent: { id, owner, ttl: span, ...(metadata && { metadata }), replace: 'any' },
      }
    }
    case 'renewal': {
      const renewed = leaseOf(lease, span)
      if (!renewed || !Number.isFinite(ttl)) return null
      const intent = { id: renewed.id, ttl: ttl as number }
      return { before: rowWith(resource, renewed.token, [renewed]), type: 'renew', intent }
    }
    case 'end': {
      const ended = leaseOf(lease, NO_LIMIT)
      if (!ended) return null
      const { token } = ended
      return { before: rowWith(resource, token, [ended]), type: 'release', intent: { token } }
    }
    default:
      return null
  }
}

function leaseOf(value: unknown, span: unknown): StoredLease | null {
  return isObject(value) ? decodeLease({ ...value, share: null, span }) : null
}

function rowWith(resource: string, token: number, leases: StoredLease[]) {
  return { ...newRow(resource, token), leases }
}
