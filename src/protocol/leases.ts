/** The lease API uses the records of the store's port, so that a store over HTTP has nothing to translate. */
import * as v from 'valibot'
import { clientId, token } from './fields.ts'

const name = v.pipe(v.string(), v.minLength(1), v.maxLength(512))
const ttl = v.pipe(v.number(), v.integer(), v.minValue(10), v.maxValue(86_400_000))
const metadata = v.record(v.string(), v.unknown())

const observed = {
  resource: v.string(),
  owner: v.string(),
  token,
  metadata: v.nullable(metadata),
  share: v.nullable(v.number()),
  acquiredAt: v.number(),
  expiresAt: v.nullable(v.number()),
  remaining: v.nullable(v.number()),
  state: v.picklist(['held', 'released', 'expired', 'taken-over']),
}
/** A lease without its id, for observers: whoever knows the id may renew and release the lease. */
export const observedLease = v.object(observed)
export const leaseRecord = v.object({ ...observed, id: v.string() })

export const leaseAsk = v.object({
  id: name,
  owner: name,
  ttl,
  metadata: v.exactOptional(metadata),
  /** Join the queue. `lease.wake` on the client's channel says when to repeat the request. */
  wait: v.exactOptional(v.boolean()),
  client: v.exactOptional(clientId),
  /** Take the lease over, but only from the lease with this token. */
  replace: v.exactOptional(token),
})
export const leaseGrant = v.object({
  granted: v.literal(true),
  lease: leaseRecord,
  replaced: v.exactOptional(leaseRecord),
})
export const leaseRefusal = v.object({
  error: v.literal('lease_held'),
  message: v.string(),
  granted: v.literal(false),
  holders: v.array(leaseRecord),
  place: v.nullable(v.number()),
  retryIn: v.nullable(v.number()),
})
export const leaseRenewal = v.object({ id: name, ttl })
export const leaseRenewed = v.object({ ok: v.literal(true), lease: leaseRecord })
export const leaseLost = v.object({
  error: v.literal('lease_lost'),
  message: v.string(),
  ok: v.literal(false),
  holders: v.array(leaseRecord),
})
export const leaseRelease = v.union([v.object({ id: name }), v.object({ token })])
export const leaseReleased = v.object({ ended: v.nullable(leaseRecord), holders: v.array(leaseRecord) })
const place = v.pipe(v.number(), v.integer(), v.minValue(0))
/** Who waits for one resource: how many, and the first of them. */
const waitingQueue = v.object({
  count: place,
  first: v.array(v.object({ id: v.string(), owner: v.string(), share: v.nullable(v.number()), place })),
})
/** How many renewals and releases one request may contain. */
export const MAX_LEASE_BATCH = 50
export const leaseBatch = v.object({
  calls: v.pipe(
    v.array(
      v.variant('method', [
        v.object({ method: v.literal('PUT'), resource: v.string(), body: leaseRenewal }),
        v.object({ method: v.literal('DELETE'), resource: v.string(), body: leaseRelease }),
      ]),
    ),
    v.minLength(1),
    v.maxLength(MAX_LEASE_BATCH),
  ),
})
export const leaseBatchAnswers = v.object({
  answers: v.array(v.object({ status: v.number(), body: v.record(v.string(), v.unknown()) })),
})
export const leasesRead = v.object({
  leases: v.array(v.nullable(leaseRecord)),
  /** In the order of the leases, if the request asked for them. */
  queues: v.exactOptional(v.array(waitingQueue)),
  next: v.exactOptional(v.string()),
})
export const sweepQuery = v.object({
  limit: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1000)),
})
export const leasesSwept = v.object({ leases: v.array(leaseRecord) })
/** How many wait, as far as the store knows. `null`: it keeps no queue. */
const waiting = v.nullable(place)
export const locksListed = v.object({
  locks: v.array(v.object({ ...observed, waiting })),
  next: v.exactOptional(v.string()),
})
/** One resource: its live lease, and those who wait for it, first in line first, without their ids. */
export const lockShown = v.object({
  lock: v.nullable(observedLease),
  waiting,
  queue: v.array(v.object({ owner: v.string(), place })),
})

export const leaseChangeEvent = v.object({ lease: observedLease })
export const leaseWakeEvent = v.object({ resource: v.string(), id: v.string(), in_ms: v.number() })
export const leaseLostEvent = v.object({ resource: v.string(), id: v.string() })

export type LeaseAsk = v.InferOutput<typeof leaseAsk>
export type LeaseBatch = v.InferOutput<typeof leaseBatch>
export type ObservedLease = v.InferOutput<typeof observedLease>
