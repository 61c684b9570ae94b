import { type Clock, MAX_TIMER_MS } from './clock.ts'
import { LeaseError } from './errors.ts'
import type { JsonObject, LeaseListener } from './lease.ts'

/**
 * Milliseconds to pause before trying again, for the first, second, … failure in a row; `null` gives up.
 * Used for store errors, for renewals, and for refusals where the store cannot push.
 */
export type Retry = (failures: number) => number | null

export interface LeaseOptions {
  /** Milliseconds that a lease lives without a renewal. Default 30 000. */
  readonly ttl?: number | undefined
  /** Milliseconds between renewals, or `false` for none. Default: a third of the TTL. */
  readonly heartbeat?: number | false | undefined
  /** Milliseconds to wait for the lease; 0 asks once, `Infinity` never gives up. Default 10 000. */
  readonly wait?: number | undefined
  /** Default: 50 ms, doubled up to 2 s, ± 20 %. */
  readonly retry?: Retry | undefined
  /** Who asks, as shown to others. Default: a fresh UUID for each manager. */
  readonly owner?: string | undefined
  /** A small JSON object shown to others, at most 4 KiB. */
  readonly metadata?: JsonObject | undefined
  /** Ends the wait; a lease that was already granted is not affected. */
  readonly signal?: AbortSignal | undefined
}

export interface LeasesOptions extends Pick<LeaseOptions, 'owner' | 'ttl' | 'heartbeat' | 'wait' | 'retry'> {
  readonly clock?: Clock | undefined
  /** The first listener; more by `subscribe`. */
  readonly onEvent?: LeaseListener | undefined
}

/** What an acquisition asks for, every default filled in and every value checked. */
export interface Wish {
  readonly resource: string
  readonly owner: string
  readonly ttl: number
  /** `Infinity`: no heartbeat. */
  readonly heartbeat: number
  readonly wait: number
  readonly retry: Retry
  readonly metadata?: JsonObject | undefined
}

const MAX_NAME_BYTES = 512
const MAX_METADATA_BYTES = 4096
const MIN_TTL_MS = 10

export function backoff(clock: Clock): Retry {
  return (failures) => Math.min(2000, 50 * 2 ** (failures - 1)) * (0.8 + 0.4 * clock.random())
}

export function makeWish(resource: string, defaults: LeasesOptions, options: LeaseOptions = {}): Wish {
  const { metadata } = options
  const ttl = options.ttl ?? defaults.ttl ?? 30_000
  expectDuration('ttl', ttl, MIN_TTL_MS)
  const heartbeat = options.heartbeat ?? defaults.heartbeat ?? Math.floor(ttl / 3)
  if (heartbeat !== false) expectDuration('heartbeat', heartbeat, 1, Math.floor(ttl * 0.9))
  const wait = options.wait ?? defaults.wait ?? 10_000
  if (wait !== Infinity) expectDuration('wait', wait, 0)
  const owner = options.owner ?? defaults.owner
  if (typeof owner !== 'string' || owner === '') refuse('owner', 'a non-empty string', owner)
  const retry = options.retry ?? defaults.retry
  if (typeof retry !== 'function') refuse('retry', 'a function', retry)
  return {
    resource: checkResource(resource),
    owner,
    ttl,
    heartbeat: heartbeat || Infinity,
    wait,
    retry(failures) {
      const pause = retry(failures) as number
      return pause >= 0 ? pause : null
    },
    metadata: metadata === undefined ? metadata : checkMetadata(metadata),
  }
}

/** The name in NFC, so that one name has one spelling; throws when it is none. */
export function checkResource(resource: string): string {
  const name = typeof resource === 'string' && resource.isWellFormed() ? resource.normalize('NFC') : ''
  if (!name || /\p{Cc}/u.test(name) || isLonger(name, MAX_NAME_BYTES))
    refuse('resource', `1 to ${MAX_NAME_BYTES} bytes of UTF-8 without control characters`, resource)
  return name
}

export function expectDuration(option: string, value: unknown, min: number, max = MAX_TIMER_MS): void {
  if (!Number.isInteger(value) || (value as number) < min || (value as number) > max)
    refuse(option, `a whole number of milliseconds from ${min} to ${max}`, value)
}

/** A copy, so that what others are shown is what was checked. */
function checkMetadata(metadata: JsonObject): JsonObject {
  let text: string | undefined
  try {
    text = JSON.stringify(metadata)
  } catch {
    // Cyclic, or a BigInt: refused below like any other value that JSON cannot carry.
  }
  if (text?.[0] !== '{' || isLonger(text, MAX_METADATA_BYTES))
    refuse('metadata', `a JSON object of at most ${MAX_METADATA_BYTES} bytes`, metadata)
  return JSON.parse(text)
}

function isLonger(text: string, bytes: number): boolean {
  // No unit of a string takes more than three bytes, so most need not be encoded.
  return text.length > bytes / 3 && new TextEncoder().encode(text).length > bytes
}

export function refuse(option: string, expected: string, value: unknown): never {
  throw new LeaseError('invalid-argument', `${option}: expected ${expected}, got ${show(value)}`)
}

function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value).slice(0, 60)
  return Object(value) === value ? (value as object).constructor?.name : String(value)
}
