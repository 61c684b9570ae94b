import type { LeaseRecord } from '../base/records.ts'
import type { WaitingQueue } from '../core/index.ts'

/** A lease as `--json` prints it. */
export function leaseToJson(lease: LeaseRecord) {
  const { resource, owner, token, id, state, share, metadata, acquiredAt, expiresAt, remaining } = lease
  return {
    resource,
    owner,
    token,
    id,
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
  return queue && { ...queue, first: queue.first.map((one) => ({ ...one, share: shareToJson(one.share) })) }
}
