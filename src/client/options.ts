/**
 * The options of the document lock and of the HTTP store, their defaults, limits and checks, and the numbers that a
 * page loads at once. Those that come with `holding.ts` are in `rare-options.ts`.
 */

import {
  expectBoolean,
  expectFunction,
  expectOptions,
  expectText,
  isObject,
  refuse,
  refuseClient,
} from '../base/arguments.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { type Duration, expectDuration } from '../base/duration.ts'
import { workerClock } from '../worker-clock/index.ts'
import type { DraftCodec } from './draft/codecs.ts'

export interface DocumentLockOptions {
  /** The address of the server. Default: the origin of the page. */
  readonly url?: string | URL | undefined
  /** The name that others see while this tab edits or waits. */
  readonly name?: string | undefined
  /**
   * Sent with every request, such as a bearer token. A function is called before each request, so that it can return
   * a token that is still valid.
   */
  readonly headers?: HeadersOption | undefined
  /**
   * Identifies this tab within its session. Locks of a room with the same id share the lock. Default: one random id
   * for all locks of a page.
   */
  readonly clientId?: string | undefined
  /**
   * After this time without input in the page, a holder is asked whether it still edits, if somebody waits or asks for
   * the lock. Without input in the next 30 s, it runs the steps of `beforeRelease` and hands over. Input in an iframe
   * counts only if the page calls `touch()`. Default: never.
   */
  readonly idleAfter?: Duration | undefined
  /**
   * Whether the others who have the document open, with this option too, see this person, and this tab sees them in
   * `state.people`. All lock objects of a page for one document use that of the first. Default false.
   */
  readonly presence?: boolean | undefined
  /** Default: a worker's. */
  readonly clock?: Clock | undefined
}

/** The options with the document in them, in place of a first argument. */
export interface DocumentLockRoomOptions extends DocumentLockOptions {
  /** Identifies the document. */
  readonly roomId: string
}

/** HTTP headers, a promise of them, or a function that returns either. */
export type HeadersOption =
  | Readonly<Record<string, string>>
  | PromiseLike<Readonly<Record<string, string>>>
  | (() => Readonly<Record<string, string>> | PromiseLike<Readonly<Record<string, string>>>)
export type MaybeLater<T> = T | PromiseLike<T>
export type HeaderRecord = Readonly<Record<string, string>>

export interface AcquireDocumentOptions {
  /** How long to wait in the queue; 0 asks once, `Infinity` never gives up. Default 0. */
  readonly wait?: Duration | undefined
}

export interface CheckedLockOptions {
  readonly url: string
  readonly roomId: string
  readonly name: string | undefined
  readonly headers: HeadersOption
  readonly clientId: string | undefined
  readonly idleAfterMs: number | undefined
  readonly presence: boolean
  readonly clock: Clock
}

/** The room is the first argument, or one of the options. */
export function checkLockOptions(
  first: string | DocumentLockRoomOptions,
  second: DocumentLockOptions,
): CheckedLockOptions {
  const whole = isObject(first) ? (first as DocumentLockRoomOptions) : undefined
  const options: DocumentLockOptions = whole ?? second
  expectOptions(options, {
    url: 1,
    name: 1,
    headers: 1,
    clientId: 1,
    idleAfter: 1,
    presence: 1,
    clock: 1,
    ...(whole && { roomId: 1 }),
  })
  const roomId = whole ? whole.roomId : first
  const { name, headers = {}, clientId, idleAfter, presence = false, clock = workerClock() } = options
  expectText('roomId', roomId)
  // In the path of a request they would be another document.
  if (/^\.\.?$/.test(roomId)) refuse('roomId', 'a name other than . and ..', roomId)
  checkName(name)
  const idleAfterMs =
    idleAfter === undefined ? undefined : expectDuration('idleAfter', idleAfter, MIN_IDLE_AFTER_MS)
  expectBoolean('presence', presence)
  // A promise is checked when it has resolved.
  const isLater = typeof headers === 'function' || 'then' in Object(headers)
  if (!isLater && !areHeaders(headers)) refuse('headers', 'HTTP headers', headers)
  const url = baseUrl(options.url ?? globalThis.location?.origin)
  if (clientId !== undefined) expectText('clientId', clientId)
  return { url, roomId, name, headers, clientId, idleAfterMs, presence, clock }
}

/** The address with a slash at its end, so that its own path is kept when a path is added. */
function baseUrl(url: unknown): string {
  try {
    const { href, protocol, username, password } = new URL(url as string)
    // `fetch` accepts no address with a user or password.
    if (/^https?:$/.test(protocol) && !username && !password) return href.replace(/\/?$/, '/')
  } catch {
    // Refused below, whatever it is.
  }
  refuseClient('url', 'an address such as http://localhost:4321, without a password', url)
}

/** Whether `fetch` can send these headers. */
export function areHeaders(headers: unknown): boolean {
  try {
    return isObject(headers) && Boolean(new Headers(headers as HeaderRecord))
  } catch {
    // A name or value that HTTP does not allow.
    return false
  }
}

/** An empty name counts as none. */
export function checkName(name: unknown): void {
  if (name) expectText('name', name)
}

/** How long to wait, in milliseconds. */
export function checkAcquireOptions(options: AcquireDocumentOptions): number {
  expectOptions(options, { wait: 1 })
  const { wait = 0 } = options
  return wait === Infinity ? wait : expectDuration('wait', wait, 0)
}

export interface HttpStoreOptions {
  /** One of the server's `leaseTokens` or `adminTokens`. */
  readonly token?: string | undefined
  /** The public key of the server's WebSocket. Default `holdfast`. */
  readonly key?: string | undefined
  /** How many acquire requests may be in flight. The others wait in this process, in order. Default 32. */
  readonly maxInFlight?: number | undefined
  /** Further headers of each request, such as those that continue a trace. Called for each request. */
  readonly headers?: (() => Readonly<Record<string, string>>) | undefined
  readonly clock?: Clock | undefined
}

const DEFAULT_KEY = 'holdfast'
/** Node opens a connection for each request in flight, and a browser has six for a host. */
const MAX_IN_FLIGHT = 32

export interface CheckedHttpStoreOptions {
  readonly url: string
  readonly headers: () => Readonly<Record<string, string>>
  readonly key: string
  readonly maxInFlight: number
  readonly clock: Clock
}

export function checkHttpStoreOptions(url: string | URL, options: HttpStoreOptions): CheckedHttpStoreOptions {
  expectOptions(options, { token: 1, key: 1, maxInFlight: 1, headers: 1, clock: 1 })
  const { token, key = DEFAULT_KEY, maxInFlight = MAX_IN_FLIGHT, clock = systemClock } = options
  if (token !== undefined) expectText('token', token)
  expectText('key', key)
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  if (!areHeaders(headers)) refuseClient('token', 'text that an HTTP header can contain', token)
  const { headers: more } = options
  if (more !== undefined) expectFunction('headers', more)
  return { url: baseUrl(url), headers: () => ({ ...more?.(), ...headers }), key, maxInFlight, clock }
}

/** The longest time for the response to a request. */
export const REQUEST_LIMIT_MS = 10_000
/** A server or a proxy may ask for a pause, but a page never waits for longer. */
export const LONGEST_RETRY_AFTER_MS = 300_000

/** The shortest `idleAfter`. */
const MIN_IDLE_AFTER_MS = 1000

/** After a failed load or save, the pause until the next try. It doubles with every failure in a row. */
export const RETRY_MS = 1000
export const MOST_RETRY_DOUBLINGS = 4

/** The shortest time between two reads of a lock. It doubles with every failed read in a row. */
export const SOONEST_READ_MS = 500
export const MOST_READ_DOUBLINGS = 6
/** While no events arrive, a change is seen after this time. */
export const POLL_MS = 2000

export interface FollowContentOptions<T> {
  /** Turns what was saved into your content, such as `jsonCodec(empty)`. Default: the JSON as it is. */
  readonly codec?: Pick<DraftCodec<T>, 'decode'> | undefined
}
