import type { Stop } from '../base/abort.ts'
import { answerWithin } from '../base/answer-within.ts'
import type { Clock } from '../base/clock.ts'
import type { LeaseRecord } from '../base/records.ts'
import type { HeldLease } from './held-lease.ts'
import type { LeaseEvent } from './lease.ts'
import type { LocalQueue } from './local-queue.ts'
import type { CheckedOptions } from './options.ts'
import type { ManagedStore } from './store.ts'

type Body<E> = E extends LeaseEvent ? Omit<E, 'at' | 'resource' | 'owner' | 'leaseId' | 'token'> : never
export type EventBody = Body<LeaseEvent>

export type About = Pick<LeaseRecord, 'resource' | 'owner' | 'id'> & { readonly token?: number }

export type LeaseClass<L extends HeldLease = HeldLease> = new (
  ...args: ConstructorParameters<typeof HeldLease>
) => L

/** Shared by the acquisitions and leases of one manager. */
export interface Context {
  readonly store: ManagedStore
  readonly clock: Clock
  /** The longest that the store may take to answer one call, in milliseconds. */
  readonly callTimeout: number
  readonly endsWithProcess: boolean
  /** Present if the store keeps no queue. */
  readonly queue?: LocalQueue | undefined
  /** The class of the leases that are granted. */
  readonly Lease: LeaseClass
  readonly held: Set<HeldLease>
  /** `at`: when it happened. Default: now. */
  emit(about: About, body: EventBody, at?: number): void
  /** Releases whatever the store keeps for this id, in the background. */
  giveUp(id: string, options: CheckedOptions): void
}

/** The answer of the store within `ms`. If there is none, the error says why, as far as the store knows. */
export function answerOf<T>(
  { clock, store }: Pick<Context, 'clock' | 'store'>,
  call: Promise<T>,
  ms: number,
  resource?: string,
  stop?: Stop,
): Promise<T> {
  return answerWithin(call, {
    clock,
    ms,
    stop,
    resource,
    explain: (error) => store.explain?.(error) ?? error,
  })
}
