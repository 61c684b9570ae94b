import type { LeaseRecord } from '../base/records.ts'
import type { LockScope } from './types.ts'

export const SCOPES: readonly LockScope[] = ['autosave', 'history']
export const TTL_MS = 30_000
/** The id for a record of `project/.lock` that cannot be read. */
export const UNREADABLE = 'unreadable'

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
