import type { Clock, LeaseRecord } from '../../core/index.ts'
import { Effects, expire, isForgettable } from '../lease-row.ts'
import { inBatches } from './in-batches.ts'
import type { Ledger } from './ledger.ts'

/** How many resources a process looks at when it tidies up beside its own work. */
const TIDY_LIMIT = 1000
/** Longer than any change takes; a slower one only has to be made again. */
const LITTER_AGE_MS = 60_000

/** Ends what has run out, forgets what nobody needs, and removes litter. */
export async function sweep(ledger: Ledger, clock: Clock, limit: number): Promise<LeaseRecord[]> {
  const swept: LeaseRecord[] = []
  for await (const entry of inBatches(await ledger.keys(), (key) => ledger.load(key, clock.now()))) {
    if (swept.length >= limit) break
    if (!entry) continue
    const expired = expire(entry.row, clock.now(), new Effects())
    const saved = await ledger.save(entry, expired)
    if (saved && expired) swept.push(expired)
    else if (isForgettable(entry.row, clock.now())) await ledger.forget(entry)
  }
  await removeLitter(ledger, clock)
  return swept
}

/** Forgets and removes litter, but ends no lease: one that has run out is for somebody who asked. */
export async function tidy(ledger: Ledger, clock: Clock): Promise<void> {
  const keys = await ledger.keys()
  const start = Math.floor(clock.random() * keys.length)
  const some = [...keys.slice(start), ...keys.slice(0, start)].slice(0, TIDY_LIMIT)
  for await (const entry of inBatches(some, (key) => ledger.load(key, clock.now())))
    if (entry && isForgettable(entry.row, clock.now())) await ledger.forget(entry)
  await removeLitter(ledger, clock)
}

function removeLitter(ledger: Ledger, clock: Clock): Promise<void> {
  return ledger.removeLitter((changedAt) => Math.abs(clock.now() - changedAt) > LITTER_AGE_MS)
}
