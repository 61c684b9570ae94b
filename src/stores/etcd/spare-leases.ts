/**
 * etcd leases that no key needs any more. To grant and to revoke one are writes of the whole cluster; to refresh a spare
 * one is not. So a released lease leaves its etcd lease to the next grant with the same TTL.
 *
 * The client may send a transaction twice, and the second one may arrive late. It must not attach a forgotten key to an
 * etcd lease that is then kept alive for another. So each grant writes the key `s` of its etcd lease, and compares the
 * revision that this key had before: it succeeds once.
 */
import { settledWithin } from '../../base/answer-within.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import type { EtcdDatabase } from '../../clients/etcd.ts'
import {
  LONG_TTL_S,
  MAX_SPARE_LEASES,
  REVOKE_LIMIT_MS,
  SPARE_EXTRA_S,
  SPARE_IDLE_FRACTION,
  SPARE_IDLE_MS,
} from './options.ts'

export interface EtcdLease {
  readonly lease: string
  /** The TTL that was asked for. */
  readonly seconds: number
  /** The revision of the last grant that used it; 0: none. */
  readonly usedRevision: number
}

interface Spare extends EtcdLease {
  /** Monotonic time. */
  readonly since: number
}

export class SpareLeases {
  readonly #database: EtcdDatabase
  readonly #clock: Clock
  /** The one that was used last is at the end. */
  #spares: Spare[] = []
  /** When those that may still be good were last refreshed: monotonic time before the request, oldest first. */
  readonly #refreshed = new Map<string, number>()
  #cancelTimer: (() => void) | undefined
  #closed = false

  constructor(database: EtcdDatabase, clock = systemClock) {
    this.#database = database
    this.#clock = clock
  }

  async grant(seconds: number): Promise<EtcdLease> {
    const sent = this.#clock.monotonic()
    const { lease } = await this.#database.grantLease(seconds + extraOf(seconds))
    this.#note(lease, sent)
    return { lease, seconds, usedRevision: 0 }
  }

  has(seconds: number): boolean {
    return this.#find(seconds) >= 0
  }

  take(seconds: number): EtcdLease | undefined {
    const index = this.#find(seconds)
    return index < 0 ? undefined : this.#spares.splice(index, 1)[0]
  }

  /** Gives it its whole TTL again, unless it still has that. Resolves with whether it has not ended. */
  async refresh({ lease, seconds }: EtcdLease): Promise<boolean> {
    const sent = this.#clock.monotonic()
    const age = sent - (this.#refreshed.get(lease) ?? -Infinity)
    if (age < extraOf(seconds) * 1000) return true
    const left = await this.#database.keepAlive(lease)
    this.#note(lease, sent)
    return left > 0
  }

  /** Nothing may be attached to it. */
  give({ lease, seconds, usedRevision }: EtcdLease): void {
    if (this.#closed || this.#spares.length >= MAX_SPARE_LEASES) this.revoke(lease)
    else this.#spares.push({ lease, seconds, usedRevision, since: this.#clock.monotonic() })
    this.#cancelTimer ??= this.#clock.setTimer(() => this.#revokeIdle(), SPARE_IDLE_MS, true)
  }

  /** In the background: an etcd lease without keys ends by itself. */
  revoke(lease: string): void {
    this.#database.revokeLease(lease).catch(() => {})
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#cancelTimer?.()
    const revoking = this.#spares.map(({ lease }) => this.#database.revokeLease(lease))
    this.#spares = []
    if (revoking.length === 0) return
    await settledWithin(Promise.allSettled(revoking), REVOKE_LIMIT_MS, this.#clock)
  }

  /** One that is old may end before it is refreshed. */
  #find(wanted: number): number {
    const oldest = this.#clock.monotonic() - Math.min(SPARE_IDLE_MS, wanted * 1000 * SPARE_IDLE_FRACTION)
    return this.#spares.findLastIndex(({ seconds, since }) => seconds === wanted && since > oldest)
  }

  #note(lease: string, sent: number): void {
    for (const [old, at] of this.#refreshed) {
      if (sent - at < SPARE_EXTRA_S * 1000) break
      this.#refreshed.delete(old)
    }
    this.#refreshed.delete(lease)
    this.#refreshed.set(lease, sent)
  }

  #revokeIdle(): void {
    const oldest = this.#clock.monotonic() - SPARE_IDLE_MS
    const idle = this.#spares.filter(({ since }) => since <= oldest)
    this.#spares = this.#spares.filter(({ since }) => since > oldest)
    for (const { lease } of idle) this.revoke(lease)
    this.#cancelTimer =
      this.#spares.length > 0
        ? this.#clock.setTimer(() => this.#revokeIdle(), SPARE_IDLE_MS, true)
        : undefined
  }
}

function extraOf(seconds: number): number {
  return seconds >= LONG_TTL_S ? SPARE_EXTRA_S : 0
}
