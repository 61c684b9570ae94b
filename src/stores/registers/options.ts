/** The options of `registerStore`, their defaults, limits and checks, and the numbers that the store is tuned with. */
import { expectOptions, expectText } from '../../base/arguments.ts'
import { type Clock, expectClock, systemClock } from '../../base/clock.ts'

/** What a register store is called, and how it uses its database. */
export interface RegisterStoreOptions {
  /** The `kind` of the store, such as `nats`. */
  readonly kind: string
  /** The name of the database in messages, such as `NATS`. */
  readonly backend: string
  /** For the store's own timers, so that a test can control them. The clock of leases is the database's. */
  readonly clock?: Clock | undefined
  /** How long `close` waits for requests that are under way, in milliseconds. Default 1 s. */
  readonly closeLimitMs?: number | undefined
  /** How many acquire requests may be in flight. Default: no limit. */
  readonly maxInFlight?: number | undefined
}

export type CheckedOptions = RegisterStoreOptions & { readonly clock: Clock }

export function checkOptions(options: RegisterStoreOptions): CheckedOptions {
  expectOptions(options, { kind: 1, backend: 1, clock: 1, closeLimitMs: 1, maxInFlight: 1 })
  const { kind, backend, clock = systemClock } = options
  expectText('kind', kind)
  expectText('backend', backend)
  expectClock('clock', clock)
  return { ...options, clock }
}

/** A call that hangs must not stop the others: after this time the next one has its turn. */
export const TURN_LIMIT_MS = 1000
/** The longest pause after a conflict. */
export const LONGEST_PAUSE_MS = 1000
/** After this many conflicts the pauses grow no more. With this, a hundred processes get their turn. */
export const DOUBLINGS = 6
/** The times of writes are rounded up to a millisecond, and the clock is rounded down. */
export const CLOCK_ROUNDING_MS = 2
