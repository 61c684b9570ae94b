import type { Moment } from '../../base/clock.ts'
import type { LeaseRecord } from '../../base/records.ts'
import type { HoldingStore } from '../../core/index.ts'
import { later, msUntil, now } from './countdown.ts'

export interface ExpiryTracker {
  /** Acquire the lease through this store. */
  readonly store: HoldingStore
  /** Milliseconds until the confirmed end of the lease; 0 without a lease. */
  remaining(): number
  /** Calls back with the confirmed end of the lease, now and after each renewal. One listener. */
  onExtended(listener: (until: Moment) => void): void
}

/**
 * Tracks until when the store has confirmed one lease. The time counts from before the request was sent, so it is never
 * later than the expiry in the store.
 */
export function trackExpiry(store: HoldingStore): ExpiryTracker {
  let until: Moment | undefined
  let listener: ((until: Moment) => void) | undefined

  const extend = (sentAt: Moment, ttl: number, { remaining }: LeaseRecord) => {
    until = later(sentAt, Math.min(ttl, remaining ?? ttl))
    listener?.(until)
  }

  return {
    remaining: () => (until ? msUntil(until) : 0),
    onExtended(added) {
      listener = added
      if (until) listener(until)
    },
    store: {
      kind: store.kind,
      supports: store.supports,
      async acquire(ask, call) {
        const sentAt = now()
        const answer = await store.acquire(ask, call)
        if (answer.granted) extend(sentAt, ask.ttl, answer.lease)
        return answer
      },
      async renew(ask, call) {
        const sentAt = now()
        const renewal = await store.renew(ask, call)
        if (renewal.ok) extend(sentAt, ask.ttl, renewal.lease)
        return renewal
      },
      release: (ask, call) => store.release(ask, call),
      close: () => store.close(),
    },
  }
}
