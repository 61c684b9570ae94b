import type { Clock } from './clock.ts'
import type { HeldLease } from './held-lease.ts'
import type { LeaseEvent, LeaseRecord } from './lease.ts'
import type { Wish } from './options.ts'
import type { LeaseStore } from './store.ts'
import type { LocalLine } from './waiting.ts'

type Body<E> = E extends LeaseEvent ? Omit<E, 'at' | 'resource' | 'owner' | 'leaseId' | 'token'> : never
export type EventBody = Body<LeaseEvent>

export type About = Pick<LeaseRecord, 'resource' | 'owner' | 'id'> & { readonly token?: number }

/** What the acquisitions and leases of one manager share. */
export interface Context {
  readonly store: LeaseStore
  readonly clock: Clock
  /** Present where the store keeps no line. */
  readonly line?: LocalLine | undefined
  readonly held: Set<HeldLease>
  /** `at`, by default now: when it happened. */
  emit(about: About, body: EventBody, at?: number): void
  /** Tells the store, without anybody waiting for it, that this id wants nothing any more. */
  giveUp(id: string, wish: Wish): void
}
