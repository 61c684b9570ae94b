/*
 * The lease: the port to a store, and the manager that holds leases through it.
 *
 *     create-leases.ts    the methods that every program uses
 *     rare-methods.ts     the others, with acquire-all.ts, lead.ts, watch.ts and ticket.ts. A page loads them on demand
 *     manager.ts          checks, waits and holds: all that the project lock and the lock manager need
 *     acquire.ts          one acquisition        local-queue.ts  the queue of a manager whose store keeps none
 *     keeper.ts           heartbeat, deadline, loss, release of one lease       release.ts  a release that ends
 *     keep-lease.ts       the same for a lease that was not granted through the port
 *     state.ts            the time that a lease has left: all deadline arithmetic, pure
 *     lease-handle.ts     what the user sees of a lease        store.ts  the port, with every guarantee
 *
 * **Deadline.** A handle trusts its lease until `sent + TTL × 0.98` on its own clocks, where `sent` was read before
 * the request left. Only an acknowledged request moves the deadline, from its own `sent`, so a lost answer changes
 * nothing. The next heartbeat is planned from the answer, up to 40 % of the TTL later: holders whose renewals
 * collided come apart. Both clocks count, because the monotonic one may stop while a machine sleeps, and the wall
 * clock may be set back. The one that passes first ends the lease. The timer of the signal is set 2 ms early,
 * because timers fire late. `held` reads the clocks each time, so it is false at the deadline however late the timer
 * is.
 *
 * **Ids.** Every attempt of one acquisition carries the same id. A repeat after a lost answer is granted again with
 * the same token. What an acquisition may have left behind when it gives up (a lease, a reservation, a place in the
 * queue) is released by that id, which nobody else has.
 *
 * **Waiting.** A waiter is never granted while it sleeps: a grant needs the time at which it was requested. Instead
 * the resource is reserved for the first waiter for one second, and the waiter is told to ask. So an acquisition
 * under contention takes three calls: ask, ask again, release. The second waiter is told to ask a second later, so a
 * dead first waiter costs a second. A wake-up that overtakes the answer to the request ends the sleep that follows.
 *
 * **When to ask again**, if nothing is pushed. Take the ends of the live leases, the reservations and the leases
 * that keep the resource in order, `e0 ≤ e1 ≤ … ≤ en`. An exclusive waiter at place `p` asks at `en + p × 1 s`: each
 * waiter before it may be dead, and each dead one costs the second of its reservation. A shared waiter at place `p`
 * asks at `ep`, the end that frees its own permit if everyone before it takes one; beyond the last end at `en + (p −
 * n) × 1 s`. Waiters with a reservation have their permit already, so a shared waiter does not count them.
 * `askAgainIn` in `stores/row-queue.ts` is the rule. Redis, Postgres and MySQL have it in their own languages.
 *
 * **Tokens** are `max(previous + 1, store clock in µs)`. A free row is deleted an hour after its end and its token's
 * time. A floor for the whole store keeps tokens above those of deleted rows when the clock steps back.
 *
 * **Limits.** Each call is limited once: by the store if it sets `limited` in the options of the call, as `Calls`
 * does, otherwise by the manager.
 *
 * **Size.** Managers and keepers are closures, because locals minify better than private fields. The handle is a
 * class, because an object with its own accessors takes twice as long to create. What a page loads on demand gets
 * the functions of the core as arguments: with imports of its own, a bundler would take the core apart, which makes
 * it larger.
 */

export { type Clock, systemClock } from '../base/clock.ts'
export { type Duration, parseDuration } from '../base/duration.ts'
export {
  LeaseError,
  type LeaseErrorCode,
  type LeaseErrorDetails,
  type LeaseErrorOf,
  type LossReason,
} from '../base/errors.ts'
export type { JsonObject, JsonValue, LeaseRecord, PlainObject } from '../base/records.ts'
export type { LeaseGroup } from './acquire-all.ts'
export { createLeases } from './create-leases.ts'
export type { Lease, LeaseEvent, LeaseEventBase, LeaseListener } from './lease.ts'
export type { GroupWork, Leases, LeasesQuery, TriedWork, Work } from './leases.ts'
export type { AdoptOptions, LeadOptions, LeaseOptions, LeasesOptions, Retry } from './options.ts'
export type {
  Answer,
  Ask,
  CallOptions,
  Grant,
  HoldingStore,
  LeasePage,
  LeaseStore,
  ListQuery,
  LookingStore,
  ManagedStore,
  Refusal,
  ReleaseAsk,
  Released,
  RenewAsk,
  Renewal,
  StoreEvent,
  StoreLoad,
  StoreSupport,
  WaitingQuery,
  WaitingQueue,
  WaitingRecord,
} from './store.ts'
export type { LeaseTicket } from './ticket.ts'
export type { LeaseWatch, WatchEvent } from './watch.ts'
