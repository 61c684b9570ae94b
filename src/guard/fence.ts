import { type Lease, LeaseError } from '../core/index.ts'

/** What a guard has to know of a lease. A `Lease` is one. */
export type Fence = Pick<Lease, 'resource' | 'token' | 'id'>

/** The fence that was seen last at a resource. */
export interface Seen {
  readonly token: number
  readonly id: string
}

/** Throws unless the lease is the one that was seen last, or a newer one. */
export function expectFresh(lease: Fence, seen: Seen | null): void {
  if (!seen || seen.token < lease.token || (seen.token === lease.token && seen.id === lease.id)) return
  const { resource, token } = lease
  const reason =
    seen.token > token
      ? `a newer lease, with token ${seen.token}, was here already`
      : 'another lease has the same token, so two stores have given it'
  throw new LeaseError('stale-token', `token ${token} of ${resource} is refused: ${reason}`, { resource })
}

export function expectFence(lease: Fence): void {
  const { resource, token, id } = lease ?? {}
  if (Number.isSafeInteger(token) && [resource, id].every((text) => typeof text === 'string' && text !== ''))
    return
  throw new LeaseError(
    'invalid-argument',
    `lease: expected its resource, token and id, got ${JSON.stringify(lease)}`,
  )
}
