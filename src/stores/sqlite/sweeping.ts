import type { LeaseRecord } from '../../core/index.ts'
import { expire, isForgettable } from '../lease-row.ts'
import { WATCH_FOR_MS } from './changes.ts'
import type { DamagedRows } from './damaged-rows.ts'
import { decodeRow } from './stored-row.ts'
import type { Transaction } from './transaction.ts'

/** So that no call takes long; the next one goes on. */
const FORGET_AT_ONCE = 500

export function sweepExpired(
  transaction: Transaction,
  damaged: DamagedRows,
  limit: number,
): readonly LeaseRecord[] {
  const { queries, now } = transaction
  const swept: LeaseRecord[] = []
  // Damaged rows stay expired for ever; they must not take the places of others.
  for (const stored of queries.overdue(now, limit + damaged.size)) {
    if (swept.length >= limit || !damaged.decode(stored, now)) continue
    const lease = transaction.apply(stored, expire)
    if (lease) swept.push(lease)
  }
  return swept
}

/** Drops rows that nobody needs; the highest of their tokens becomes the floor. Says whether it has got them all. */
export function prune({ queries, now, meta }: Transaction): boolean {
  let { floor } = meta
  const found = queries.forgettable(now, FORGET_AT_ONCE)
  for (const stored of found) {
    if (!isForgettable(decodeRow(stored, now), now)) continue
    floor = Math.max(floor, stored.token)
    queries.forget(stored.resource)
  }
  if (floor > meta.floor) queries.setFloor(floor)
  // After the clock stepped back, nobody may be watching for as long as this says.
  if (meta.watchUntil > now + WATCH_FOR_MS) queries.setWatchUntil(now + WATCH_FOR_MS)
  return found.length < FORGET_AT_ONCE
}
