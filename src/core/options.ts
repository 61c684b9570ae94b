import {
  checkEach,
  expectBoolean,
  expectFunction,
  expectOptions,
  expectSignal,
  refuse,
  show,
} from '../base/arguments.ts'
import { type Clock, expectClock, systemClock } from '../base/clock.ts'
import { type Duration, expectDuration, expectHeartbeat, expectTtl, millisOf } from '../base/duration.ts'
import { CALL_TIMEOUT_MS, HEARTBEATS_PER_TTL, MAX_METADATA_BYTES } from '../base/options.ts'
import { backoffMs } from '../base/pause.ts'
import type { JsonObject, PlainObject } from '../base/records.ts'
import { checkOwner, checkResource, isLonger } from '../base/resource-name.ts'
import { isShare } from '../base/share.ts'
import type { LeaseListener } from './lease.ts'

/** How long a lease lives without a renewal. */
const DEFAULT_TTL_MS = 30_000
/** How long an acquisition waits. */
const DEFAULT_WAIT_MS = 10_000
/** How long `close` waits for the work under its leases. */
const CLOSE_TIMEOUT_MS = 10_000

/**
 * How long to pause before the next try, for the first, second, … failure in a row; `null` gives up.
 * Used for store errors, for renewals, and for refusals if the store cannot push.
 */
export type Retry = (failures: number) => Duration | null

export interface LeaseOptions {
  /** How long a lease lives without a renewal. Default 30 s. */
  readonly ttl?: Duration | undefined
  /** The time between renewals, or `false` for none. Default: a third of the TTL. */
  readonly heartbeat?: Duration | false | undefined
  /**
   * How long to wait for the lease; 0 asks once, `Infinity` never gives up. The first call to the store has at least a
   * second, or `callTimeout` if that is shorter. Default 10 s.
   */
  readonly wait?: Duration | undefined
  /** Default: 50 ms, doubled up to 2 s, ± 20 %. */
  readonly retry?: Retry | undefined
  /** Who asks, as shown to others. Default: `host:pid`, or a short random id in a page. */
  readonly owner?: string | undefined
  /** `shared`: a reader, one of any number. The same as `share: Infinity`. Default `exclusive`: only this lease. */
  readonly mode?: 'exclusive' | 'shared' | undefined
  /** How many may hold the resource together: from 1, or `Infinity`. Not together with `mode`. */
  readonly share?: number | undefined
  /** The resource stays taken for at least this long after the grant, even if the lease ends earlier. */
  readonly atLeast?: Duration | undefined
  /** The resource stays taken for this long after a lease that expired. A released lease has no delay. */
  readonly lockDelay?: Duration | undefined
  /** A small JSON object shown to others, at most 4 KiB. */
  readonly metadata?: PlainObject | undefined
  /** Ends the wait. A lease that was already granted is not affected. */
  readonly signal?: AbortSignal | undefined
}

export interface LeasesOptions extends Pick<LeaseOptions, 'owner' | 'ttl' | 'heartbeat' | 'wait' | 'retry'> {
  /** How long one call to the store may take. A short TTL does not shorten it. Default 5 s. */
  readonly callTimeout?: Duration | undefined
  /**
   * How long `close()` waits for the work of `withLease`, `tryWithLease` and `lead`, which it has told to stop, before it
   * releases their leases. Heartbeats go on meanwhile. Default 10 s.
   */
  readonly closeTimeout?: Duration | undefined
  /**
   * Whether a lease ends with this process: a store on the same machine (SQLite, file) then frees it as soon as the
   * process has ended, however it ended. `false`: it always lives until its TTL ends. Default true.
   */
  readonly endsWithProcess?: boolean | undefined
  readonly clock?: Clock | undefined
  /** The first listener; add more with `subscribe`. */
  readonly onEvent?: LeaseListener | undefined
}

/** The options of one acquisition, with every default filled in and every value checked. Times in milliseconds. */
export interface CheckedOptions {
  readonly resource: string
  readonly owner: string
  readonly ttl: number
  /** `Infinity`: no heartbeat. */
  readonly heartbeat: number
  readonly wait: number
  readonly retry: (failures: number) => number | null
  readonly metadata?: JsonObject | undefined
  readonly share?: number | undefined
  readonly atLeast?: number | undefined
  readonly lockDelay?: number | undefined
  /** As in `Ask`. */
  readonly replace?: 'any' | undefined
  readonly signal?: AbortSignal | undefined
}

/** What JSON carries as it is, beside finite numbers. A field that is `undefined` is absent. */
const JSON_TYPES = /t (Object|Array|String|Boolean|Null|Undefined)/
const SHARES = 'a whole number from 1, or Infinity'

/** `heartbeat` is checked together with the TTL. */
const KEEP_CHECKS = {
  ttl: (_: string, ttl: unknown) => expectTtl(ttl),
  heartbeat: () => {},
  retry: (option: string, retry: unknown) => {
    expectFunction(option, retry)
    return (failures: number) => {
      const pause = millisOf((retry as Retry)(failures))
      return pause >= 0 ? pause : null
    }
  },
  signal: expectSignal,
}
const ONE_ATTEMPT_CHECKS = {
  ...KEEP_CHECKS,
  owner: checkOwner,
  metadata: checkMetadata,
  mode: (option: string, value: unknown) => {
    if (value !== 'exclusive' && value !== 'shared') refuse(option, '"exclusive" or "shared"', value)
  },
  share: (option: string, value: unknown) => (isShare(value) ? value : refuse(option, SHARES, value)),
  atLeast: checkTime,
  lockDelay: checkTime,
}
const wait = (option: string, value: unknown) => (value === Infinity ? value : checkTime(option, value))
const LEASE_CHECKS = { ...ONE_ATTEMPT_CHECKS, wait }

/** `tryAcquire` has no `wait`. */
export function expectOneAttempt(options: Omit<LeaseOptions, 'wait'> = {}): void {
  expectOptions(options, ONE_ATTEMPT_CHECKS)
}

/** The options of `createLeases`, with every default filled in and every value checked. */
export interface Defaults extends Pick<CheckedOptions, 'owner' | 'ttl' | 'wait' | 'retry'> {
  readonly heartbeat?: LeaseOptions['heartbeat']
  readonly callTimeout: number
  readonly closeTimeout: number
  readonly endsWithProcess: boolean
  readonly clock: Clock
  readonly onEvent?: LeaseListener | undefined
}

/** `owner`: if the options name none. */
export function checkDefaults(options: LeasesOptions, owner: string): Defaults {
  const { ttl, heartbeat, retry } = KEEP_CHECKS
  const checked: Partial<Defaults> = checkEach<LeasesOptions>(options, {
    owner: checkOwner,
    ttl,
    heartbeat,
    wait,
    retry,
    callTimeout: (option, value) => expectDuration(option, value, 1),
    closeTimeout: checkTime,
    endsWithProcess: expectBoolean,
    clock: expectClock,
    onEvent: expectFunction,
  })
  const { clock = systemClock } = options
  return {
    owner,
    ttl: DEFAULT_TTL_MS,
    wait: DEFAULT_WAIT_MS,
    retry: (failures) => backoffMs(clock, failures),
    callTimeout: CALL_TIMEOUT_MS,
    closeTimeout: CLOSE_TIMEOUT_MS,
    endsWithProcess: true,
    clock,
    ...checked,
  }
}

export function checkOptions(
  resource: string,
  defaults: Defaults,
  options: LeaseOptions = {},
): CheckedOptions {
  const own: Partial<Defaults & Pick<LeaseOptions, 'mode' | 'share'>> = checkEach(options, LEASE_CHECKS)
  const { mode, share = mode === 'shared' ? Infinity : undefined, ...given } = own
  if (mode && own.share) refuse('mode', 'no mode beside share', mode)
  const merged = { ...defaults, ...given, share }
  const { ttl, heartbeat = Math.floor(ttl / HEARTBEATS_PER_TTL) } = merged
  return {
    ...merged,
    resource: checkResource(resource),
    heartbeat: heartbeat === false ? Infinity : expectHeartbeat(heartbeat, ttl),
  }
}

function checkTime(option: string, value: unknown): number {
  return expectDuration(option, value, 0)
}

/** A copy, so that others see exactly what was checked. */
function checkMetadata(option: string, metadata: unknown): JsonObject {
  let text: string | undefined
  let lost = ''
  try {
    text = JSON.stringify(metadata, function (this: Record<string, unknown>, key) {
      // Before a `toJSON` has made another value of it.
      const value = this[key]
      if (!JSON_TYPES.test(Object.prototype.toString.call(value)) && !Number.isFinite(value))
        lost = `${key}: ${show(value)}`
      return value
    })
  } catch {
    // A cycle or a BigInt: rejected below, like any other value that JSON cannot carry.
  }
  if (text?.[0] !== '{' || lost || isLonger(text, MAX_METADATA_BYTES))
    refuse(option, `a JSON object of at most ${MAX_METADATA_BYTES} bytes`, metadata, lost || undefined)
  return JSON.parse(text)
}

export type LeadOptions = Omit<LeaseOptions, 'wait'>
export type AdoptOptions = Pick<LeaseOptions, 'ttl' | 'heartbeat' | 'retry' | 'signal'>
