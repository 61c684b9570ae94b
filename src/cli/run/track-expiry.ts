import type { LeaseRecord, LeaseStore } from '../../core/index.ts'
import { later, type Moment, msUntil, present } from './moment.ts'

export interface VouchingStore {
  readonly store: LeaseStore
  /** Milliseconds for which the store still vouches for the lease. */
  left(): number
  /** Calls back with the latest moment until which the store vouches for the lease, and with each that follows. */
  onVouched(listener: (until: Moment) => void): void
}

/**
 * Tells until when each answer vouches for the lease. As a lease's own deadline that is counted from before the
 * question was sent, so it cannot lie behind the store's expiry.
 */
export function vouchingStore(store: LeaseStore): VouchingStore {
  let latest: Moment | undefined
  let listener: ((until: Moment) => void) | undefined

  const vouch = (sent: Moment, ttl: number, { remaining }: LeaseRecord) => {
    latest = later(sent, Math.min(ttl, remaining ?? ttl))
    listener?.(latest)
  }

  return {
    left: () => (latest ? msUntil(latest) : 0),
    onVouched(added) {
      listener = added
      if (latest) listener(latest)
    },
    store: {
      kind: store.kind,
      supports: store.supports,
      async acquire(ask, call) {
        const sent = present()
        const answer = await store.acquire(ask, call)
        if (answer.granted) vouch(sent, ask.ttl, answer.lease)
        return answer
      },
      async renew(ask, call) {
        const sent = present()
        const renewal = await store.renew(ask, call)
        if (renewal.ok) vouch(sent, ask.ttl, renewal.lease)
        return renewal
      },
      release: (by, call) => store.release(by, call),
      read: (resources, call) => store.read(resources, call),
      list: (query, call) => store.list(query, call),
      sweep: (query, call) => store.sweep(query, call),
      watch: (on, query) => store.watch(on, query),
      close: () => store.close(),
    },
  }
}
