/** The lease API uses the records of the store's port. Only a share without a limit is written differently. */

import * as v from 'valibot'
import { clientId, milliseconds, token } from './fields.ts'
import {
  MAX_KEPT_MS,
  MAX_LEASE_BATCH,
  MAX_LEASE_TTL_MS,
  MAX_RESOURCE_LENGTH,
  MAX_RESULTS,
  MIN_LEASE_TTL_MS,
} from './options.ts'

/** Without NUL and halves of characters, which not every store can keep. */
const name = v.pipe(v.string(), v.minLength(1), v.maxLength(MAX_RESOURCE_LENGTH), v.regex(/^[^\0\p{Cs}]*$/u))
const ttl = v.pipe(v.number(), v.integer(), v.minValue(MIN_LEASE_TTL_MS), v.maxValue(MAX_LEASE_TTL_MS))
const anyRecord = v.record(v.string(), v.unknown())
/** Valibot takes an array for a record. */
const metadata: typeof anyRecord = {
  ...anyRecord,
  '~run': (dataset, config) =>
    anyRecord['~run'](Array.isArray(dataset.value) ? { value: 'an array' } : dataset, config),
}
/** How many may hold the resource together. JSON has no infinity. */
const share = v.union([v.pipe(v.number(), v.safeInteger(), v.minValue(1)), v.literal('unlimited')])
/** Missing in answers of servers that know only exclusive leases. */
const shareOrExclusive = v.exactOptional(v.nullable(share))
/** How long a resource may stay taken without a holder. */
const keeping = v.pipe(milliseconds, v.maxValue(MAX_KEPT_MS))

const observed = {
  resource: v.string(),
  owner: v.string(),
  token,
  metadata: v.nullable(metadata),
  share: shareOrExclusive,
  acquiredAt: v.number(),
  expiresAt: v.nullable(v.number()),
  remaining: v.nullable(v.number()),
  state: v.picklist(['held', 'kept', 'released', 'expired', 'taken-over']),
}
/** A lease without its id, for observers: everybody who knows the id may renew and release the lease. */
const observedLease = v.object(observed)
export const leaseRecord = v.object({ ...observed, id: v.string() })

export const leaseAsk = v.object({
  id: name,
  owner: name,
  ttl,
  metadata: v.exactOptional(metadata),
  /** Join the queue. `lease.wake` on the client's channel says when to repeat the request. */
  wait: v.exactOptional(v.boolean()),
  client: v.exactOptional(clientId),
  /** Absent: an exclusive lease. */
  share: v.exactOptional(share),
  /** How many milliseconds after the grant the resource stays taken, even if the lease is released. */
  atLeast: v.exactOptional(keeping),
  /** How many milliseconds the resource stays taken after the lease has expired. */
  lockDelay: v.exactOptional(keeping),
  /** Take the lease over, but only from the lease with this token and if no other is live. `any` ends all leases. */
  replace: v.exactOptional(v.union([token, v.literal('any')])),
})
/** Who holds the resource: the oldest live lease, and all of them. */
const holding = { holder: v.nullable(leaseRecord), holders: v.array(leaseRecord) }
export const leaseGrant = v.object({
  granted: v.literal(true),
  lease: leaseRecord,
  replaced: v.exactOptional(leaseRecord),
})
export const leaseRefusal = v.object({
  error: v.literal('lease_held'),
  message: v.string(),
  granted: v.literal(false),
  ...holding,
  /** For how many milliseconds a lease that has ended still keeps the resource. */
  keptFor: v.exactOptional(v.number()),
  place: v.nullable(v.number()),
  retryIn: v.nullable(v.number()),
})
export const leaseRenewal = v.object({ id: name, ttl })
export const leaseRenewed = v.object({ ok: v.literal(true), lease: leaseRecord })
export const leaseLost = v.object({
  error: v.literal('lease_lost'),
  message: v.string(),
  ok: v.literal(false),
  ...holding,
})
export const leaseRelease = v.union([v.object({ id: name }), v.object({ token })])
export const leaseReleased = v.object({ ended: v.nullable(leaseRecord), ...holding })
const place = v.pipe(v.number(), v.integer(), v.minValue(0))
/** The queue of one resource: the number of waiters, and the first of them. */
const waitingQueue = v.object({
  count: place,
  first: v.array(v.object({ id: v.string(), owner: v.string(), share: shareOrExclusive, place })),
})
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
/**
 * Of each resource that was named, the oldest live lease, or else one of state `kept`, and all of them. Also those who
 * wait, if the request asked for them.
 */
const read = {
  leases: v.array(v.nullable(leaseRecord)),
  holders: v.array(v.array(leaseRecord)),
  queues: v.exactOptional(v.array(waitingQueue)),
}
export const leaseRead = v.object(read)
/** Without names: in `leases` all leases, in pages. */
export const leasesRead = v.object({
  ...read,
  holders: v.exactOptional(read.holders),
  next: v.exactOptional(v.string()),
})
export const sweepQuery = v.object({
  limit: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(MAX_RESULTS)),
})
export const leasesSwept = v.object({ leases: v.array(leaseRecord) })
/** How many wait, as far as the store knows. `null`: it keeps no queue. */
const waiting = v.nullable(place)
export const locksListed = v.object({
  locks: v.array(v.object({ ...observed, waiting })),
  next: v.exactOptional(v.string()),
})
/** Somebody who has a room open: a public id, and the name that others see. */
export const viewer = v.object({ session_id: v.string(), name: v.nullable(v.string()) })
/**
 * One resource: its leases that are live or `kept`, oldest first, and those who wait for it, in the order of the queue,
 * without their ids. `lock` is the oldest live one, or one that keeps the resource. `viewers` have the room open; the
 * holder and those who wait are usually among them.
 */
export const lockShown = v.object({
  lock: v.nullable(observedLease),
  holders: v.array(observedLease),
  waiting,
  queue: v.array(
    v.object({ owner: v.string(), name: v.exactOptional(v.string()), share: shareOrExclusive, place }),
  ),
  viewers: v.array(viewer),
})

export const leaseChangeEvent = v.object({ lease: observedLease })
export const leaseWakeEvent = v.object({ resource: v.string(), id: v.string(), in_ms: v.number() })
export const leaseLostEvent = v.object({ resource: v.string(), id: v.string() })

/** What carries a share: a lease, a waiter or a request. */
interface Shared {
  readonly share: number | null
}
export type Viewer = v.InferOutput<typeof viewer>
export type WireShare = v.InferOutput<typeof share>
type OnWire<Item> = Omit<Item, 'share'> & { readonly share: WireShare | null }

export function toWire<Item extends Shared>(item: Item): OnWire<Item> {
  return { ...item, share: item.share === Infinity ? 'unlimited' : item.share }
}

export function fromWire<Item extends { readonly share?: WireShare | null }>(
  item: Item,
): Omit<Item, 'share'> & Shared {
  return { ...item, share: item.share === 'unlimited' ? Infinity : (item.share ?? null) }
}

export type LeaseAsk = v.InferOutput<typeof leaseAsk>
export type LeaseBatch = v.InferOutput<typeof leaseBatch>
export type ObservedLease = v.InferOutput<typeof observedLease>
