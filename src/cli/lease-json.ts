import type { LeaseRecord } from '../base/records.ts'
import type { WaitingQueue } from '../core/index.ts'

/** A lease as `--json` prints it. Without its id, with which anybody could renew and release it. */
export function leaseToJson(lease: LeaseRecord) {
  const { resource, owner, token, state, share, metadata, acquiredAt, expiresAt, remaining } = lease
  return {
    resource,
    owner,
    token,
    state,
    share: shareToJson(share),
    metadata,
    acquiredAt: new Date(acquiredAt).toISOString(),
    expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString(),
    remainingMs: remaining === null ? null : Math.round(remaining),
  }
}

/** JSON has no infinity. */
function shareToJson(share: number | null): number | 'unlimited' | null {
  return share === Infinity ? 'unlimited' : share
}

/** A queue as `--json` prints it. */
export function queueToJson(queue: WaitingQueue | null) {
  return (
    queue && {
      ...queue,
      first: queue.first.map(({ owner, share, place }) => ({ owner, share: shareToJson(share), place })),
    }
  )
}
