import { expectText, hasMethods, isObject, refuse, refuseClient } from '../base/arguments.ts'
import { LeaseError } from '../base/errors.ts'
import type { Lease } from '../core/index.ts'

/** The three fields of a lease that a guard needs. A `Lease` has them. */
export type Fence = Pick<Lease, 'resource' | 'token' | 'id'>

/** The newest lease that a guard has seen at a resource. */
export interface Seen {
  readonly token: number
  readonly id: string
}

export function expectFence(lease: unknown): asserts lease is Fence {
  if (!isObject(lease)) refuse('lease', 'a lease, such as acquire() resolves with', lease)
  const { resource, token, id } = lease
  expectText('lease.resource', resource)
  if (!Number.isSafeInteger(token)) refuse('lease.token', 'a whole number', token)
  expectText('lease.id', id)
}

/** Throws unless the lease is the newest that the guard has seen, or is newer. */
export function expectFresh(lease: Fence, seen: Seen | null): void {
  if (!seen || seen.token < lease.token || (seen.token === lease.token && seen.id === lease.id)) return
  throw staleToken(
    lease,
    seen.token > lease.token
      ? `the guard has seen a newer lease, with token ${seen.token}`
      : 'another lease has the same token, so two stores have granted it',
  )
}

export function staleToken({ resource, token }: Fence, reason: string): LeaseError {
  return new LeaseError('stale-token', `token ${token} of ${resource} is refused: ${reason}`, { resource })
}

/** A check that no transaction binds to a write would protect nothing. */
export function refuseOutside(option: string, client: unknown): never {
  refuseClient(
    option,
    'a connection with an open transaction, because a check outside of it protects no write (guard.write opens one)',
    client,
  )
}

/** Work that awaits would write after the check, when another lease may have been checked. */
export function expectSynchronous<T>(result: T): T {
  if (hasMethods(result, 'then')) refuse('work', 'a function that is not async', result)
  return result
}
