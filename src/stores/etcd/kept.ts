/** Resources that are only kept: their `k` keys remain after the lease has ended. */

import type { Clock } from '../../base/clock.ts'
import type { LeaseRecord } from '../../base/records.ts'
import type { EtcdEntry } from '../../clients/etcd.ts'
import { MAX_DIFFERENCE_MS } from './options.ts'
import type { ParsedEvent } from './push.ts'
import { decodeLease, endedRecordOf, keptRecordOf, type Stored, type StoredLease } from './rows.ts'

/** A lease that has ended, and the keys by which it keeps the resource. */
export interface KeptLease {
  readonly lease: Stored<StoredLease>
  readonly keys: readonly EtcdEntry[]
}

/** Leases that have ended and still keep the resource. */
export function keptAfterEnd(
  leases: readonly Stored<StoredLease>[],
  kept: readonly Stored<StoredLease>[],
): KeptLease[] {
  // An older key than the lease of its id is of an earlier lease of that id.
  const isOf = (key: Stored<StoredLease>, lease: Stored<StoredLease>) =>
    key.value.id === lease.value.id && key.entry.modified >= lease.entry.created
  const ended = kept.filter((key) => !leases.some((lease) => isOf(key, lease)))
  return Array.from(Map.groupBy(ended, ({ value }) => value.id).values(), (keys) => ({
    lease: keys[0] as Stored<StoredLease>,
    keys: keys.map(({ entry }) => entry),
  }))
}

/**
 * What a watcher is told of kept resources. etcd has no event for them, so a watcher is told with the end of the lease,
 * first with the time that is left by the clock of the process that held it. Then etcd is asked for the time that is
 * left, and the watcher is told again if it differs.
 */
export class KeptTold {
  readonly #clock: Clock
  readonly #secondsLeft: (lease: string) => Promise<number>
  readonly #tell: (lease: LeaseRecord) => void
  /** By resource and id: the record that was told, and the etcd leases of the keys that keep it. */
  readonly #told = new Map<string, { readonly record: LeaseRecord; readonly by: Set<string> }>()

  constructor(
    clock: Clock,
    secondsLeft: (lease: string) => Promise<number>,
    tell: (lease: LeaseRecord) => void,
  ) {
    this.#clock = clock
    this.#secondsLeft = secondsLeft
    this.#tell = tell
  }

  /** The lease was released, or has expired. `removed`: the `k` keys that the same transaction deleted. */
  ended(
    resource: string,
    entry: EtcdEntry,
    state: 'released' | 'expired',
    removed: readonly ParsedEvent[],
  ): void {
    const { value } = decodeLease(entry)
    const { least, delay, acquiredAt, id } = value
    const gone = removed.filter((event) => event.id === id).map(({ previous }) => previous?.lease)
    const by = [...(least ? [least.lease] : []), ...(delay && state === 'expired' ? [delay.lease] : [])]
    const keeping = by.filter((lease) => !gone.includes(lease))
    if (keeping.length === 0) return
    const now = this.#clock.now()
    const byLeast = least && keeping.includes(least.lease) ? acquiredAt + least.seconds * 1000 - now : 0
    const byDelay = delay && keeping.includes(delay.lease) ? delay.seconds * 1000 : 0
    const record = keptRecordOf(resource, { entry, value }, Math.max(byLeast, byDelay), now)
    const key = `${resource}\0${id}`
    if (Number(record.remaining) > 0) this.#keep(key, record, keeping)
    void this.#correct(key, record, keeping)
  }

  /** `k` keys were deleted without their lease: their time is over, or somebody has ended it by force. */
  freed(resource: string, removed: readonly ParsedEvent[], state: 'released' | 'taken-over'): void {
    for (const { id, previous } of removed) {
      const key = `${resource}\0${id}`
      const told = this.#told.get(key)
      if (!told || !previous) continue
      told.by.delete(previous.lease)
      if (told.by.size > 0) continue
      this.#told.delete(key)
      this.#tell(endedRecordOf(resource, decodeLease(previous), state, this.#clock.now()))
    }
  }

  /** Something was missed. */
  clear(): void {
    this.#told.clear()
  }

  #keep(key: string, record: LeaseRecord, by: readonly string[]): void {
    this.#told.set(key, { record, by: new Set(by) })
    this.#tell(record)
  }

  async #correct(key: string, record: LeaseRecord, by: readonly string[]): Promise<void> {
    const before = this.#told.get(key)
    const seconds = await Promise.all(by.map((lease) => this.#secondsLeft(lease))).catch(() => [])
    const left = (Math.max(-1, ...seconds) + 1) * 1000
    const isOff = Math.abs(left - Number(record.remaining)) > MAX_DIFFERENCE_MS
    // Its end, or a later lease of this id, was told meanwhile.
    if (this.#told.get(key) !== before || !isOff || left === 0) return
    this.#keep(key, { ...record, expiresAt: this.#clock.now() + left, remaining: left }, by)
  }
}
