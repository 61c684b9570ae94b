import type { LeaseRecord } from '../base/records.ts'
import type { LeaseGroup } from './acquire-all.ts'
import type { Lease, LeaseListener } from './lease.ts'
import type { AdoptOptions, LeadOptions, LeaseOptions } from './options.ts'
import type { LeasePage, WaitingRecord } from './store.ts'
import type { LeaseTicket } from './ticket.ts'
import type { LeaseWatch, WatchEvent } from './watch.ts'

/** `signal` aborts when the lease is lost, and when the `signal` of the options aborts. */
export type Work<T> = (lease: Lease, signal: AbortSignal) => T | PromiseLike<T>
/** The work under several leases. */
export type GroupWork<T> = (group: LeaseGroup, signal: AbortSignal) => T | PromiseLike<T>
/**
 * What became of work that does not wait. `holder`: of several, the oldest; `undefined`: the store named none. `keptFor`:
 * how many milliseconds a lease that has ended still keeps the resource, by `atLeast` or `lockDelay`.
 */
export type TriedWork<T> =
  | { readonly ran: true; readonly result: T }
  | { readonly ran: false; readonly holder: LeaseRecord | undefined; readonly keptFor: number | undefined }
export interface LeasesQuery {
  /** What the names begin with. */
  readonly prefix?: string | undefined
  /** The largest number of leases in the page. Default 100. */
  readonly limit?: number | undefined
  /** The `next` of the page before. */
  readonly after?: string | undefined
}

export interface Leases extends AsyncDisposable {
  /**
   * Acquires, runs, always releases. Resolves with what `work` returns. Rejects with `lease-lost` if the lease was
   * lost before `work` ended, also if it threw: another holder may have worked at the same time.
   *
   * @throws `lease-held`, `lease-lost`, `aborted`
   *
   * @example
   * await leases.withLease('invoice:42', async (lease) => save(invoice, lease.token))
   */
  withLease<T>(resource: string, work: Work<T>, options?: LeaseOptions): Promise<T>
  /** The same with several leases at once, as `acquireAll` acquires them. */
  withLease<T>(resources: readonly string[], work: GroupWork<T>, options?: LeaseOptions): Promise<T>
  /**
   * Runs `work` only if the lease is free now: one attempt, as `tryAcquire`. Resolves with what `work` returned, or with
   * who holds the lease.
   *
   * @throws `lease-lost`, `aborted`
   *
   * @example
   * const tried = await leases.tryWithLease('report', writeReport)
   * if (!tried.ran) console.log(tried.keptFor ? 'it was written a moment ago' : `${tried.holder?.owner} writes it`)
   */
  tryWithLease<T>(
    resource: string,
    work: Work<T>,
    options?: Omit<LeaseOptions, 'wait'>,
  ): Promise<TriedWork<T>>
  /** The same with several leases at once: all of them are free now, or the work does not run. */
  tryWithLease<T>(
    resources: readonly string[],
    work: GroupWork<T>,
    options?: Omit<LeaseOptions, 'wait'>,
  ): Promise<TriedWork<T>>
  /**
   * Waits for the lease. Rejects with `lease-held` when the wait ends. Not re-entrant.
   *
   * @throws `lease-held`, `aborted`
   */
  acquire(resource: string, options?: LeaseOptions): Promise<Lease>
  /**
   * One attempt; `null` if another caller holds it.
   *
   * @throws `aborted`
   */
  tryAcquire(resource: string, options?: Omit<LeaseOptions, 'wait'>): Promise<Lease | null>
  /**
   * Several leases at once, all or none. They are acquired in sorted order, so that two callers never wait for each
   * other. `wait` covers the whole call. When it is used up, each name that is left is still asked for once.
   *
   * @throws `lease-held`, `lease-lost`, `aborted`
   *
   * @example
   * await using both = await leases.acquireAll(['account:1', 'account:2'])
   */
  acquireAll(resources: readonly string[], options?: LeaseOptions): Promise<LeaseGroup>
  /**
   * Leader election: waits in the queue without a time limit, and runs `work` while it holds the lease. After a loss it
   * waits again and runs `work` again. Resolves with what `work` returns, and rejects when `work` throws. When the
   * `signal` of the options aborts, it resolves with `undefined`: at once while it waits, and otherwise when `work` has
   * ended and the lease is released.
   *
   * @example
   * await leases.lead('scheduler', async (lease, signal) => runSchedule(signal), { signal })
   */
  lead<T>(resource: string, work: Work<T>, options?: LeadOptions): Promise<T | undefined>
  /**
   * The live lease of a resource, no matter who holds it. Of several, the oldest. If nobody holds it, and a lease that has
   * ended keeps it by `atLeast` or `lockDelay`: that one, with state `kept` and the time left.
   */
  inspect(resource: string): Promise<LeaseRecord | null>
  /** All live leases of a resource, oldest first, and those of state `kept`: see `inspect`. */
  holders(resource: string): Promise<readonly LeaseRecord[]>
  /**
   * The waiters of a resource, in the order of the queue: at most the first 1000. Rejects with `invalid-argument` if the
   * store keeps no queue: see `supports.queue`.
   */
  waiting(resource: string): Promise<readonly WaitingRecord[]>
  /**
   * A forced release: ends the lease with this token, no matter who holds it, or its keeping of the resource. Resolves with
   * whether it did. The holder is told, or notices with its next heartbeat.
   *
   * @example
   * const [holder] = await leases.holders('invoice:42')
   * if (holder) await leases.release('invoice:42', { token: holder.token })
   */
  release(resource: string, by: { readonly token: number }): Promise<boolean>
  /**
   * Continues a lease that another handle has detached, in this or another process. Rejects with `lease-lost` if it
   * has ended, and with `invalid-argument` if the ticket is not one of this kind of store.
   *
   * @throws `lease-lost`, `aborted`
   */
  adopt(ticket: LeaseTicket, options?: AdoptOptions): Promise<Lease>
  /**
   * Leases that are live or `kept`, in the order of their resources and tokens: a page of at most `limit` (default 100).
   * If there are more, the page has a `next`, which is the `after` of the next page.
   *
   * @example
   * const { leases: jobs, next } = await leases.list({ prefix: 'job:' })
   */
  list(query?: LeasesQuery): Promise<LeasePage>
  /**
   * Reports every grant, renewal and end of everyone's leases from the moment the promise resolves, and `gap` when
   * something may have been missed. The leases that are already live are in `live` of the watch. It ends with its
   * `close()`, or with that of the manager. Rejects with `invalid-argument` if the store cannot push or list.
   *
   * @example
   * await using watch = await leases.watch({ prefix: 'invoice:' }, ({ type, lease }) => console.log(type, lease?.owner))
   */
  watch(
    query: { readonly prefix?: string | undefined },
    listener: (event: WatchEvent) => void,
  ): Promise<LeaseWatch>
  /** Listens to the events of this manager. Returns a function that stops it. */
  subscribe(listener: LeaseListener): () => void
  /**
   * Ends every wait and aborts the signal of every lease. What `withLease`, `tryWithLease` and `lead` run may end first:
   * its lease is released when it has ended, at the latest after `closeTimeout` (default 10 s), and its caller gets the
   * result. All other leases are released at once. Resolves when every request that it sent is answered and every grant
   * released, at the latest after `callTimeout` more. The store stays open: it is yours.
   */
  close(): Promise<void>
}
