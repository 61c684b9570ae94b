import type { Clock } from '../base/clock.ts'
import type { LeaseRecord } from '../base/records.ts'
import type { Keeper, KeepOptions } from './keeper.ts'
import type { LeaseEvent } from './lease.ts'
import type { LocalQueue } from './local-queue.ts'
import type { ManagedStore } from './store.ts'

type Body<E> = E extends LeaseEvent ? Omit<E, 'at' | 'resource' | 'owner' | 'leaseId' | 'token'> : never
export type EventBody = Body<LeaseEvent>

export type About = Pick<LeaseRecord, 'resource' | 'owner' | 'id'> & { readonly token?: number }

/** Shared by the acquisitions and leases of one manager. */
export interface Context {
  readonly store: ManagedStore
  readonly clock: Clock
  /** The longest that the store may take to answer one call, in milliseconds. */
  readonly callTimeout: number
  readonly endsWithProcess: boolean
  /** Present if the store keeps no queue. */
  readonly queue?: LocalQueue | undefined
  /** What `close` of the manager ends: leases and watches. */
  readonly held: Set<Pick<Keeper, 'close'>>
  emit(about: About, body: EventBody): void
  /**
   * Releases whatever the store keeps for this id, in the background. `late`: when this request has been answered, in
   * case the release overtakes it.
   */
  giveUp(about: About, options: KeepOptions, late?: Promise<unknown>): void
  /** `close` waits until it has settled. */
  untilDone(work: Promise<unknown>): void
}
