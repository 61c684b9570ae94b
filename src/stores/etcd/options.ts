/** The options of `etcdStore`, their defaults, limits and checks, and the numbers that the store is tuned with. */
import { type Complete, expectOptions, expectText, refuse } from '../../base/arguments.ts'
import { isWithinKeys } from './names.ts'

export interface EtcdStoreOptions {
  /** The beginning of all keys of the store. Default `holdfast/`. */
  readonly prefix?: string | undefined
  /** How many acquire requests may be in flight. The others wait in this process, in order. Default 32. */
  readonly maxInFlight?: number | undefined
}

const DEFAULTS = { prefix: 'holdfast/', maxInFlight: 32 }

/** `namespace`: what the client puts before every key. */
export function checkOptions(options: EtcdStoreOptions, namespace: string): Complete<EtcdStoreOptions> {
  expectOptions(options, { prefix: 1, maxInFlight: 1 })
  const { prefix = DEFAULTS.prefix, maxInFlight = DEFAULTS.maxInFlight } = options
  expectText('prefix', prefix)
  if (isWithinKeys(namespace + prefix))
    refuse(
      'prefix',
      `one without /l/, /e/, /k/, /q/ and /s/, which follow the prefix of another store`,
      prefix,
    )
  return { prefix, maxInFlight }
}

/** How many operations one transaction has. etcd refuses one with more than 128, unless it is configured otherwise. */
export const RENEWALS_TOGETHER = 32
/** How often a store that watches checks that the watch still delivers. */
export const PROBE_EVERY_MS = 10_000
/** A process that is dead or stopped for longer loses its places in all queues. */
export const SESSION_TTL_S = 3
/** How often the session is kept alive: three times in its TTL, so that a lost answer costs nobody its place. */
export const SESSION_KEPT_ALIVE_EVERY_MS = 1000
/** How many etcd leases wait for their next use. */
export const MAX_SPARE_LEASES = 64
/** How long an unused spare lease is kept. */
export const SPARE_IDLE_MS = 5000
/** No longer than this fraction of its TTL: it may end before it is refreshed. */
export const SPARE_IDLE_FRACTION = 0.5
/** A server that has stopped does not answer. */
export const REVOKE_LIMIT_MS = 1000
/** A long TTL is asked for with this more, so that an etcd lease is good for a while without being refreshed. */
export const SPARE_EXTRA_S = 1
/** Shorter ones are asked for as they are: a second more would be too much. */
export const LONG_TTL_S = 10
/** etcd refuses a transaction with more than 128 operations, unless it is configured otherwise. */
export const MAX_OPERATIONS = 100
/** How many expired leases are looked for at once, and how often in one call. */
export const SWEEP_PAGE = 500
export const SWEEP_PAGES = 4
/** How many leases are asked for their remaining time at once. */
export const QUESTIONS_AT_ONCE = 32
/** How many waiters have their turn at once. The next ones follow when these have asked. */
export const FIRST_WAITERS = 64
/** etcd tells the rest of a lease in whole seconds. The end of a lease is told anew if it is off by more than this. */
export const MAX_DIFFERENCE_MS = 2000
