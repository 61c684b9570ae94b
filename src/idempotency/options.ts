import {
  expectBoolean,
  expectFunction,
  expectMethods,
  expectOneOf,
  expectOptions,
  expectText,
  expectWhole,
  refuse,
} from '../base/arguments.ts'
import { type Clock, expectClock, systemClock } from '../base/clock.ts'
import { type Duration, expectDuration, expectTtl } from '../base/duration.ts'
import { randomId } from '../base/random-id.ts'
import type { JsonValue } from '../base/records.ts'
import { createOnce, type JobStore, type Once } from '../once/index.ts'
import type { KeyFormat } from './key.ts'

type Awaitable<T> = T | PromiseLike<T>

/** `R`: the request as the framework has it, which the functions here get. */
export interface IdempotencyOptions<R = Request> {
  /** Where keys and answers are stored. Give either this or `once`. */
  readonly jobs?: JobStore | undefined
  /** What `createOnce` returns, if you have one, and close it yourself. Give either this or `jobs`. */
  readonly once?: Once | undefined
  /**
   * Who sends the request, such as the id of the user. Each principal has its own keys, so nobody gets the answer of
   * another one. `null`, `undefined` or an empty text: 401. `'everyone'`: all senders share their keys.
   */
  readonly principal: ((request: R) => Awaitable<string | null | undefined>) | 'everyone'
  /** Within what a key is unique, such as a tenant: a key of another principal there is 422. Default: the principal. */
  readonly scope?: ((request: R) => Awaitable<string>) | undefined
  /** The methods that take a key. Requests with other methods pass. Default `POST`, `PATCH`. */
  readonly methods?: readonly string[] | undefined
  /** Whether a request without a key is 400. Otherwise it passes. Default true. */
  readonly required?: boolean | undefined
  /** `strict`: a key must be in quotes, as in the draft. `any`: it may be. Default `any`. */
  readonly format?: KeyFormat | undefined
  /** What of the body must be the same, as JSON. Default: all of its bytes. */
  readonly fingerprint?: ((request: R) => Awaitable<JsonValue>) | undefined
  /** How long an answer is kept; `Infinity`: always. Default `'24h'`. */
  readonly keep?: Duration | undefined
  /** How long a request waits while the first one with its key runs, before it is 409. Default 0. */
  readonly wait?: Duration | undefined
  /** How long the key of a process that died stays in use. A running request extends it. Default `'1m'`. */
  readonly ttl?: Duration | undefined
  /** When a client may ask again after 409 or 503. The header has whole seconds. Default `'1s'`. */
  readonly retryAfter?: Duration | undefined
  /** The longest body of a request with a key, in bytes. Default 1 MiB. */
  readonly maxRequest?: number | undefined
  /** The longest body of an answer that is kept, in bytes. Default 256 KiB. */
  readonly maxResponse?: number | undefined
  /** Names of more headers that a replay has, such as `set-cookie`. Default: none. */
  readonly headers?: readonly string[] | undefined
  /** Whether an answer is kept. Default: not 5xx, 401, 408, 425 or 429, nor another 4xx with `Retry-After`. */
  readonly keeps?: ((answer: AnswerHead) => boolean) | undefined
  /** If the store does not answer: `refuse` with 503, or let the request `pass` unprotected. Default `refuse`. */
  readonly onUnavailable?: 'refuse' | 'pass' | undefined
  /** Called with every error of the store that the client does not get to see, and the key of the request. */
  readonly onError?: ((error: unknown, key: string) => void) | undefined
  /** The beginning of the ids of the jobs in the store. Default `idempotency:`. */
  readonly prefix?: string | undefined
  readonly clock?: Clock | undefined
}

export interface IdempotentFetchOptions {
  /** How often a request is sent at most. Default 5. */
  readonly tries?: number | undefined
  /** The longest pause between two tries. A longer `Retry-After` ends the tries. Default `'30s'`. */
  readonly maxPause?: Duration | undefined
  /** The key of a request that has none. Default: a random UUID. */
  readonly newKey?: (() => string) | undefined
  /** What sends a request. Default: the global `fetch`. */
  readonly fetch?: typeof fetch | undefined
  readonly clock?: Clock | undefined
}

/** An answer without its body. */
export interface AnswerHead {
  readonly status: number
  readonly headers: Headers
}

/** Every default is filled in and every value checked. Times in milliseconds. */
export interface CheckedOptions<R>
  extends Required<
    Omit<
      IdempotencyOptions<R>,
      | 'jobs'
      | 'methods'
      | 'headers'
      | 'keep'
      | 'wait'
      | 'ttl'
      | 'retryAfter'
      | 'scope'
      | 'fingerprint'
      | 'onError'
    >
  > {
  readonly once: Once
  readonly scope: IdempotencyOptions<R>['scope']
  readonly fingerprint: IdempotencyOptions<R>['fingerprint']
  readonly onError: IdempotencyOptions<R>['onError']
  readonly format: KeyFormat
  readonly methods: ReadonlySet<string>
  readonly headers: ReadonlySet<string>
  readonly keep: number
  readonly wait: number
  readonly ttl: number
  /** Seconds. */
  readonly retryAfter: number
  readonly maxRequest: number
  readonly maxResponse: number
  readonly keeps: (answer: AnswerHead) => boolean
  readonly prefix: string
  readonly clock: Clock
}

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const YEAR_MS = 366 * DAY_MS

const DEFAULTS = {
  methods: ['POST', 'PATCH'],
  required: true,
  format: 'any',
  keep: DAY_MS,
  wait: 0,
  ttl: MINUTE_MS,
  retryAfter: 1000,
  maxRequest: 2 ** 20,
  maxResponse: 2 ** 18,
  onUnavailable: 'refuse',
  prefix: 'idempotency:',
} as const

const FETCH_DEFAULTS = { tries: 5, maxPause: 30_000 }
/** The pause of the client before its first retry. It doubles with each further one. */
export const FIRST_PAUSE_MS = 200

/** A longer payload is represented by its hash. Each hash takes a turn of another thread. */
export const SHORT_BYTES = 4096
/** More arguments than this may not fit on the stack. */
export const BASE64_CHUNK_BYTES = 32_768

/** What belongs to the answer itself, and not to the connection, the person or the moment. */
const REPLAYED_HEADERS = [
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-location',
  'content-type',
  'etag',
  'last-modified',
  'link',
  'location',
]
/** They belong to one message on one connection: a replay has its own. */
const NEVER_REPLAYED = [
  'connection',
  'content-length',
  'keep-alive',
  'proxy-authenticate',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]

export function checkOptions<R>(options: IdempotencyOptions<R>): CheckedOptions<R> {
  expectOptions(options, {
    jobs: 1,
    once: 1,
    principal: 1,
    scope: 1,
    methods: 1,
    required: 1,
    format: 1,
    fingerprint: 1,
    keep: 1,
    wait: 1,
    ttl: 1,
    retryAfter: 1,
    maxRequest: 1,
    maxResponse: 1,
    headers: 1,
    keeps: 1,
    onUnavailable: 1,
    onError: 1,
    prefix: 1,
    clock: 1,
  })
  const { principal, scope, fingerprint, keeps = keepsByDefault, onError, clock = systemClock } = options
  const { required = DEFAULTS.required, format = DEFAULTS.format, prefix = DEFAULTS.prefix } = options
  const { keep = DEFAULTS.keep, wait = DEFAULTS.wait, ttl = DEFAULTS.ttl } = options
  const { retryAfter = DEFAULTS.retryAfter, onUnavailable = DEFAULTS.onUnavailable } = options
  const { maxRequest = DEFAULTS.maxRequest, maxResponse = DEFAULTS.maxResponse } = options
  if (principal !== 'everyone' && typeof principal !== 'function')
    refuse('principal', "a function that says who sends a request, or 'everyone'", principal)
  for (const [name, value] of Object.entries({ scope, fingerprint, onError }))
    if (value !== undefined) expectFunction(name, value)
  expectFunction('keeps', keeps)
  expectBoolean('required', required)
  expectOneOf('format', format, ['any', 'strict'])
  expectOneOf('onUnavailable', onUnavailable, ['refuse', 'pass'])
  expectWhole('maxRequest', maxRequest, 0)
  expectWhole('maxResponse', maxResponse, 0)
  expectText('prefix', prefix)
  expectClock('clock', clock)
  const methods = namesOf('methods', options.methods ?? DEFAULTS.methods).map((name) => name.toUpperCase())
  const headers = namesOf('headers', options.headers ?? []).map((name) => name.toLowerCase())
  const never = headers.find((name) => NEVER_REPLAYED.includes(name))
  if (never) refuse('headers', 'names of headers that belong to the answer', never)
  return {
    once: onceOf(options, clock),
    principal,
    scope,
    methods: new Set(methods),
    required,
    format,
    fingerprint,
    keep: keep === Infinity ? keep : expectDuration('keep', keep, 1, YEAR_MS),
    wait: wait === Infinity ? wait : expectDuration('wait', wait, 0),
    ttl: expectTtl(ttl),
    retryAfter: Math.ceil(expectDuration('retryAfter', retryAfter, 0) / 1000),
    maxRequest,
    maxResponse,
    headers: new Set([...REPLAYED_HEADERS, ...headers]),
    keeps,
    onUnavailable,
    onError,
    prefix,
    clock,
  }
}

export function checkFetchOptions(options: IdempotentFetchOptions) {
  expectOptions(options, { tries: 1, maxPause: 1, newKey: 1, fetch: 1, clock: 1 })
  const { tries = FETCH_DEFAULTS.tries, maxPause = FETCH_DEFAULTS.maxPause } = options
  const { newKey = randomId, fetch: send = globalThis.fetch, clock = systemClock } = options
  const maxPauseMs = expectDuration('maxPause', maxPause, 0)
  expectWhole('tries', tries, 1)
  expectFunction('newKey', newKey)
  expectFunction('fetch', send)
  expectClock('clock', clock)
  return { tries, maxPauseMs, newKey, send, clock }
}

function onceOf<R>({ jobs, once }: IdempotencyOptions<R>, clock: Clock): Once {
  if (jobs !== undefined && once !== undefined) refuse('once', 'nothing beside jobs', once)
  if (once === undefined) return createOnce(jobs as JobStore, { clock })
  expectMethods('once', once, 'what createOnce returns', 'result', 'close')
  return once
}

function namesOf(option: string, names: unknown): string[] {
  if (!Array.isArray(names)) refuse(option, 'an array of names', names)
  for (const name of names) if (!/^[\w!#$%&'*+.^`|~-]+$/.test(String(name))) refuse(option, 'names', name)
  return names
}

/** Errors that a later try may not have are not kept: the client may repeat the request with the same key. */
function keepsByDefault({ status, headers }: AnswerHead): boolean {
  if (status >= 500 || [401, 408, 425, 429].includes(status)) return false
  return status < 400 || !headers.has('retry-after')
}

/** The longest key, as Stripe has it. */
export const MAX_KEY_LENGTH = 255
