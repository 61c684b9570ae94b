import { type Clock, type Moment, moment } from './clock.ts'
import type { Context, EventBody } from './context.ts'
import { HeldLease } from './held-lease.ts'
import type { Lease, LeaseRecord } from './lease.ts'
import { backoff, type Wish } from './options.ts'
import { releaseInTime } from './release.ts'
import { FREE, reduce } from './state.ts'
import type { LeaseStore } from './store.ts'

export interface KeepOptions {
  readonly ttl: number
  readonly heartbeat: number
  readonly clock: Clock
  /** `moment(clock)` from just before the request went out that was granted. */
  readonly sent: Moment
  readonly onEvent: (event: EventBody) => void
}

/** All that a lease needs once it is granted. */
export interface KeepStore extends Pick<LeaseStore, 'renew'> {
  release(by: {
    readonly resource: string
    readonly id: string
  }): Promise<{ readonly ended: Pick<LeaseRecord, 'state'> | null }>
}

export interface KeptLease {
  readonly lease: Lease
  /** The other side told that it was ended. */
  end(): void
}

/**
 * Keeps a lease that was granted by other means than the port, such as a request that waited in line at a server:
 * with the same heartbeat, deadline and loss as any other. `null`: the grant came after its own deadline.
 */
export function keepLease(
  store: KeepStore,
  record: LeaseRecord,
  { ttl, heartbeat, clock, sent, onEvent }: KeepOptions,
): KeptLease | null {
  const { resource, owner, remaining } = record
  const wish: Wish = { resource, owner, ttl, heartbeat, wait: 0, retry: backoff(clock) }
  const context: Context = {
    store: store as LeaseStore,
    clock,
    held: new Set(),
    emit: (_, event) => onEvent(event),
    giveUp: (id) => void releaseInTime(context, id, wish).catch(() => {}),
  }
  const state = reduce(FREE, { type: 'granted', sent, at: moment(clock), wish, remaining })
  if (state.phase !== 'held') return null
  const lease = new HeldLease(context, wish, record, state)
  return { lease, end: () => HeldLease.endedByStore(lease) }
}
