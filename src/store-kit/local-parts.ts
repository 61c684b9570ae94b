/** Two parts of our stores, with the methods that a store of another author needs. */
import type { Clock } from '../base/clock.ts'
import type { LeaseError } from '../base/errors.ts'
import type { LeaseRecord } from '../base/records.ts'
import type {
  Answer,
  Ask,
  CallOptions,
  Grant,
  ReleaseAsk,
  Released,
  Renewal,
  StoreEvent,
  StoreLoad,
} from '../core/index.ts'
import { LocalListeners as Listeners } from '../stores/local/listeners.ts'
import { StoreCalls as Calls } from '../stores/local/store-calls.ts'

/** Work of several steps calls `throwIfAborted` before each one, so that it writes nothing for a caller that has gone. */
export type CallWork<T> = (stop: { throwIfAborted(): void }) => T | Promise<T>

export interface StoreCallsOptions {
  /** The name of the backend in messages, such as `Redis`. */
  readonly backend: string
  /** Turns whatever the backend threw into a `LeaseError`: see `storeError`. */
  readonly explain: (error: unknown, resource?: string) => LeaseError
  /** How many acquire requests may be in flight. Default: no limit. */
  readonly maxInFlight?: number | undefined
  /** The work of a release, for what a request is granted while the store closes. */
  readonly release?:
    | ((by: { readonly resource: string; readonly id: string }) => CallWork<Released>)
    | undefined
  /**
   * How long `close` waits for requests that are under way, in milliseconds. Default 1 s. For acquire requests and
   * releases it waits at least 5 s.
   */
  readonly closeLimitMs?: number | undefined
  readonly clock?: Clock | undefined
}

/** The calls of one store. Each ends: with its answer, by the caller's signal, after its limit, or by `close`. */
export interface StoreCalls {
  /** For `store.load`. */
  readonly load: StoreLoad
  acquire(ask: Ask, work: CallWork<Answer>, call?: CallOptions): Promise<Answer>
  /** Requests that are sent as one. Not while others wait until they may be sent: then the answer is `null`. */
  acquireAll(
    asks: readonly Ask[],
    work: CallWork<readonly Grant[] | null>,
    call?: CallOptions,
  ): Promise<readonly Grant[] | null>
  /** 128 at once, so that they do not pile up in an outage. */
  renew(work: CallWork<Renewal>, call?: CallOptions, resource?: string): Promise<Renewal>
  release(by: ReleaseAsk, work: CallWork<Released>, call?: CallOptions): Promise<Released>
  /** Any other call. */
  run<T>(work: CallWork<T>, call?: CallOptions, resource?: string): Promise<T>
  /** Rejects the callers at once, except those that release, and waits for the requests that are under way. */
  close(): Promise<void>
}
export const StoreCalls: new (options: StoreCallsOptions) => StoreCalls = Calls

/** Those in this process that a store has to tell something: waiters their turn, holders their loss, watchers all. */
export interface LocalListeners {
  /** Whether anybody listens. Then a store that pushes keeps its connection open. */
  readonly isNeeded: boolean
  /** Call it before the request is sent, if the backend pushes: the push may arrive before the answer. */
  expect(ask: Ask): void
  /** The answer to an acquire request. */
  answered(ask: Ask, answer: Answer): void
  /** Before a release: a holder that releases is not told that it lost its lease. Returns the lease that it held. */
  forget(id: string): LeaseRecord | null
  /** Tells waiters and holders what a transition means to them. Watchers are told by `tellChange`. */
  carryOut(effects: {
    readonly wakes: ReadonlyMap<string, number>
    readonly changes: readonly LeaseRecord[]
  }): void
  /** The lease of this id with this token was ended by another process. */
  ended(id: string, token: number): void
  /** It is the turn of this waiter after `inMs` milliseconds. */
  wake(id: string, inMs: number): void
  /** Something may have been missed: every waiter asks again. */
  wakeAll(): void
  /** For `store.watch`. */
  watch(on: (event: StoreEvent) => void, prefix?: string): AsyncDisposable
  tellChange(lease: LeaseRecord): void
  /** Something may have been missed: every watcher reads again. */
  tellGap(): void
  clear(): void
}
export const LocalListeners: new (clock?: Clock) => LocalListeners = Listeners
