import type { LeaseRecord } from '../base/records.ts'
import type { LockScope } from './types.ts'

export const SCOPES: readonly LockScope[] = ['autosave', 'history']
/**
 * How the owner of a record begins that cannot be read. `lock-file.ts`, which a page loads on demand, has the rest of
 * the sentence.
 */
export const UNREADABLE = 'project/.lock '

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
