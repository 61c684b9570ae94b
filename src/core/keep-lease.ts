import { type Clock, type Moment, moment } from '../base/clock.ts'
import { CALL_TIMEOUT_MS } from '../base/options.ts'
import { backoffMs } from '../base/pause.ts'
import type { LeaseRecord } from '../base/records.ts'
import type { Context, EventBody } from './context.ts'
import { createKeeper, type Keeper } from './keeper.ts'
import { releaseInTime } from './release.ts'
import { hold } from './state.ts'
import type { HoldingStore } from './store.ts'

export type { Keeper }

export interface KeepLeaseOptions {
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

/**
 * Keeps a lease that was not granted through the port, but for example by a request that waited in a server's
 * queue. It has the same heartbeat, deadline and loss as any other. `null`: the grant came after its own deadline.
 */
export function keepLease(store: KeepStore, record: LeaseRecord, options: KeepLeaseOptions): Keeper | null {
  const { clock, onEvent } = options
  const context: Context = {
    store: store as HoldingStore,
    clock,
    callTimeout: CALL_TIMEOUT_MS,
    endsWithProcess: false,
    held: new Set(),
    emit: (_, event) => onEvent(event),
    untilDone() {},
    giveUp: (about, options) => void releaseInTime(context, about, options).catch(() => {}),
  }
  const held = hold({ ...options, at: moment(clock), remaining: record.remaining })
  const retry = (failures: number) => backoffMs(clock, failures)
  return held && createKeeper(context, { ...options, retry }, record, held)
}
