import { CALL_TIMEOUT_MS } from '../base/answer-within.ts'
import { type Clock, type Moment, moment } from '../base/clock.ts'
import { backoffMs } from '../base/pause.ts'
import type { LeaseRecord } from '../base/records.ts'
import type { Context, EventBody } from './context.ts'
import { HeldLease } from './held-lease.ts'
import type { CheckedOptions } from './options.ts'
import { releaseInTime } from './release.ts'
import { FREE, reduce } from './state.ts'
import type { HoldingStore } from './store.ts'

export interface KeepOptions {
  readonly ttl: number
  readonly heartbeat: number
  readonly clock: Clock
  /** `moment(clock)` from just before the granted request was sent. */
  readonly sent: Moment
  readonly onEvent: (event: EventBody) => void
}

/** All that a granted lease needs. */
export interface KeepStore extends Pick<HoldingStore, 'renew'> {
  release(by: {
    readonly resource: string
    readonly id: string
  }): Promise<{ readonly ended: Pick<LeaseRecord, 'state'> | null }>
}

export interface KeptLease {
  readonly lease: HeldLease
  /** Call it when the other side reports that the lease was ended. */
  end(): void
}

/**
 * Keeps a lease that was not granted through the port, but for example by a request that waited in a server's
 * queue. It has the same heartbeat, deadline and loss as any other. `null`: the grant came after its own deadline.
 */
export function keepLease(
  store: KeepStore,
  record: LeaseRecord,
  { ttl, heartbeat, clock, sent, onEvent }: KeepOptions,
): KeptLease | null {
  const { resource, owner, remaining } = record
  const retry = (failures: number) => backoffMs(clock, failures)
  const options: CheckedOptions = { resource, owner, ttl, heartbeat, wait: 0, retry }
  const context: Context = {
    store: store as HoldingStore,
    clock,
    callTimeout: CALL_TIMEOUT_MS,
    endsWithProcess: false,
    Lease: HeldLease,
    held: new Set(),
    emit: (_, event) => onEvent(event),
    giveUp: (id) => void releaseInTime(context, id, options).catch(() => {}),
  }
  const state = reduce(FREE, { type: 'granted', sent, at: moment(clock), options, remaining })
  if (state.phase !== 'held') return null
  const lease = new HeldLease(context, options, record, state)
  return { lease, end: () => HeldLease.endedByStore(lease) }
}
