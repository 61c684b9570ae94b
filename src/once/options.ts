/** The options of `once`, their checks, and every default, limit and tuned number of this part. */

import {
  expectBoolean,
  expectFunction,
  expectOneOf,
  expectOptions,
  expectSignal,
  expectText,
  expectWhole,
  refuse,
} from '../base/arguments.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { type Duration, expectDuration, expectHeartbeat, expectTtl, unitQuestion } from '../base/duration.ts'
import { CALL_TIMEOUT_MS } from '../base/options.ts'
import type { JsonValue } from '../base/records.ts'
import { warn, warnOnce } from '../base/warn.ts'
import type { LeaseListener } from '../core/index.ts'
import type { JobFieldNames, JobStatuses } from './naming.ts'
import type { OidcClaims } from './oidc.ts'
import type { RunningJob } from './run.ts'

// Defaults

/** The table, the collection or the beginning of the keys of the jobs. */
export const DEFAULT_JOBS = 'jobs'
const TTL_MS = 300_000
/** The default TTL of `acquireAnalysisLock`, in its unit. */
export const TTL_SEC = TTL_MS / 1000
const HEARTBEAT_PART_OF_TTL = 0.3
const WAIT_MS = 60_000
const RESULT_WAIT_MS = 10_000
const DAY_MS = 86_400_000
const KEEP_MS = DAY_MS
const RETRY_AFTER_MS = 30_000
const LOCKED_STATUS = 503

// Limits

/** A year: longer than any job, and every backend can store the date of its end. */
export const MAX_TTL_MS = 366 * DAY_MS
/** The highest `integer` of Postgres. */
const MAX_ATTEMPTS = 2 ** 31 - 1
export const MAX_BODY_BYTES = 16_384
export const MAX_ERROR_LENGTH = 10_000
/**
 * Nothing that has more bytes as JSON fits into a document of Firestore, which has at most 1 MiB. For requests that are
 * too large for its connection, the client reports an outage, and the outcome of the job would be sent again and again.
 */
export const MAX_JSON_BYTES = 8 * 1024 * 1024

// Tuned numbers

/** How long `close` waits at least for requests whose answers nobody waits for any more. */
export const CLOSE_LIMIT_MS = 10_000
/** How often a process that keeps results deletes old ones, and how many with one request. */
export const SWEEP_EVERY_MS = 600_000
export const SWEEP_AT_ONCE = 1000
/** How many jobs of etcd a sweep reads at once. */
export const SWEEP_PAGE = 500
/** How often a job is created that is deleted before it is locked. */
export const MAX_CREATIONS = 5
/** A write fails only if another one came first, so after this many failures in a row there are many other workers. */
export const MAX_WRITES = 20
/** The longest pause between two of these writes. */
export const MAX_PAUSE_MS = 50

/** Called when something went wrong that does not affect the caller. */
export type OnWarning = (message: string, error: unknown) => void

export interface OnceOptions {
  /** How long the lock of a run lives without a heartbeat, if the run names no TTL. Default 300 s. */
  readonly ttl?: Duration | undefined
  /**
   * The time between heartbeats of a run that names none; `false`: no heartbeats. Default: three tenths of the TTL,
   * which is 90 s.
   */
  readonly heartbeat?: Duration | false | undefined
  /** After this many attempts that did not finish, a job is finished as failed. Default: no limit. */
  readonly maxAttempts?: number | undefined
  /** Written before the id of the run in a job's record, such as a host or a process. */
  readonly worker?: string | undefined
  /** Listens to the events of the locks. */
  readonly onEvent?: LeaseListener | undefined
  /** How long one call to the job store may take. A short TTL does not shorten it. Default 5 s. */
  readonly callTimeout?: Duration | undefined
  /** Called if a lock could not be released. Default: `console.warn`. */
  readonly onWarning?: OnWarning | undefined
  readonly clock?: Clock | undefined
}

type RunDefaults = Pick<OnceOptions, 'ttl' | 'heartbeat' | 'maxAttempts'>

/** Every default is filled in and every value checked. Times in milliseconds. */
export interface CheckedOnceOptions extends Pick<OnceOptions, 'worker' | 'onEvent' | 'onWarning'> {
  readonly callTimeout: number
  readonly clock: Clock
  /** What the options of a call do not say. */
  readonly defaults: RunDefaults
}

const ONCE_OPTIONS = {
  ...{ worker: 1, callTimeout: 1, onEvent: 1, onWarning: 1, clock: 1 },
  ...{ ttl: 1, heartbeat: 1, maxAttempts: 1 },
} as const

export function checkOnceOptions(options: OnceOptions): CheckedOnceOptions {
  expectOptions(options, ONCE_OPTIONS)
  const { worker, onEvent, onWarning, clock = systemClock, ttl, heartbeat, maxAttempts } = options
  const defaults = { ttl, heartbeat, maxAttempts }
  checkRunOptions(defaults)
  if (worker !== undefined) expectText('worker', worker)
  if (onEvent !== undefined) expectFunction('onEvent', onEvent)
  if (onWarning !== undefined) expectFunction('onWarning', onWarning)
  const callTimeout = expectDuration('callTimeout', options.callTimeout ?? CALL_TIMEOUT_MS, 1)
  return { worker, onEvent, onWarning, callTimeout, clock, defaults }
}

export interface RunOptions {
  /** How long the lock lives without a heartbeat. Default: that of `createOnce`. */
  readonly ttl?: Duration | undefined
  /** The time between heartbeats, or `false` for none. Default: that of `createOnce`. */
  readonly heartbeat?: Duration | false | undefined
  /** How long one call to the job store may take. Default: that of `createOnce`. */
  readonly callTimeout?: Duration | undefined
  /** After this many attempts that did not finish, the job is finished as failed. Default: that of `createOnce`. */
  readonly maxAttempts?: number | undefined
  /** Adds the job first, if it does not exist. Default false: a job that does not exist is `not-found`. */
  readonly add?: boolean | undefined
  /** Asks the work to stop. If the work then throws, the job is left for another run. */
  readonly signal?: AbortSignal | undefined
}

/** `RunOptions` with every default filled in and every value checked. Times in milliseconds. */
export interface CheckedRunOptions extends RunOptions {
  readonly ttl: number
  readonly heartbeat: number | false
  readonly callTimeout: number | undefined
}

/**
 * `defaults`: those of `createOnce`. `others`: more names of options that are allowed, and not checked here.
 */
export function checkRunOptions(
  options: RunOptions,
  defaults: RunDefaults = {},
  others: Record<string, 1> = {},
): CheckedRunOptions {
  const known = { ttl: 1, heartbeat: 1, maxAttempts: 1, signal: 1, callTimeout: 1, add: 1 } as const
  expectOptions(options, { ...known, ...others })
  const { maxAttempts = defaults.maxAttempts, signal, callTimeout, add = false } = options
  const ttl = expectTtl(options.ttl ?? defaults.ttl ?? TTL_MS)
  const heartbeat = options.heartbeat ?? defaults.heartbeat ?? Math.floor(ttl * HEARTBEAT_PART_OF_TTL)
  expectAttempts(maxAttempts)
  if (signal !== undefined) expectSignal('signal', signal)
  expectBoolean('add', add)
  return {
    ttl,
    heartbeat: heartbeat === false ? false : expectHeartbeat(heartbeat, ttl),
    callTimeout: callTimeout === undefined ? undefined : expectDuration('callTimeout', callTimeout, 1),
    maxAttempts,
    signal,
    add,
  }
}

export function expectAttempts(maxAttempts: unknown): void {
  if (maxAttempts !== undefined) expectWhole('maxAttempts', maxAttempts, 1, MAX_ATTEMPTS)
}

export interface ResultOptions extends Omit<RunOptions, 'add'> {
  /** What the caller asks for, as JSON. The same id with another payload is refused with `payload-mismatch`. */
  readonly payload?: JsonValue | undefined
  /** How long the result is kept, by the store's clock; `Infinity`: always. Default `'24h'`. */
  readonly keep?: Duration | undefined
  /** How long to wait while another worker runs the job; 0: not at all. Default 10 s. */
  readonly wait?: Duration | undefined
  /**
   * `forget`: after an error of the work, the next caller runs it again. `keep`: later callers are refused with
   * `job-failed`, unless the error has `retryable === true`. Default `forget`.
   */
  readonly failures?: 'forget' | 'keep' | undefined
}

export interface CheckedResultOptions {
  readonly payload: JsonValue | undefined
  readonly keepMs: number
  readonly waitMs: number
  readonly keepsFailures: boolean
  readonly run: CheckedRunOptions
}

export function checkResultOptions(options: ResultOptions, defaults: RunDefaults): CheckedResultOptions {
  const { payload, keep = KEEP_MS, wait = RESULT_WAIT_MS, failures = 'forget' } = options
  const run = checkRunOptions(options, defaults, { payload: 1, keep: 1, wait: 1, failures: 1 })
  const keepMs = keep === Infinity ? keep : expectDuration('keep', keep, 1, MAX_TTL_MS)
  const waitMs = expectWait(wait)
  expectOneOf('failures', failures, ['forget', 'keep'])
  return { payload, keepMs, waitMs, keepsFailures: failures === 'keep', run }
}

export interface WaitOptions {
  /** How long to wait; 0 reads once, `Infinity` never gives up. The first read has at least a second. Default 60 s. */
  readonly wait?: Duration | undefined
  /** @deprecated Another name for `wait`. */
  readonly timeout?: Duration | undefined
  readonly signal?: AbortSignal | undefined
}

export function checkWaitOptions(options: WaitOptions): {
  readonly waitMs: number
  readonly signal: AbortSignal | undefined
} {
  expectOptions(options, { wait: 1, timeout: 1, signal: 1 })
  const { timeout, wait = timeout ?? WAIT_MS, signal } = options
  if (timeout !== undefined) warnOnce('once.wait: the option timeout is now called wait')
  const waitMs = expectWait(wait)
  if (signal !== undefined) expectSignal('signal', signal)
  return { waitMs, signal }
}

function expectWait(wait: Duration): number {
  return wait === Infinity ? wait : expectDuration('wait', wait, 0)
}

/** What the queue says about a delivery. Anybody can send these headers, so use them only behind `authorize`. */
export interface Delivery {
  /** How often the queue has delivered the task before. */
  readonly retryCount: number | null
  readonly queue: string | null
  readonly task: string | null
}

export interface TaskHandlerOptions
  extends Pick<RunOptions, 'add' | 'ttl' | 'heartbeat' | 'callTimeout' | 'maxAttempts'> {
  /** The job itself, and what the queue says about its delivery. */
  readonly work: (job: RunningJob & { readonly delivery: Delivery }) => unknown
  /**
   * Whether this request may start work, for example by its OIDC token: see `oidcAuthorize`. `'everyone'`: every
   * request may, because something else keeps strangers out. Default: every request may, with a `HoldfastWarning`.
   */
  readonly authorize?: ((request: Request) => boolean | PromiseLike<boolean>) | 'everyone' | undefined
  /**
   * `retry`: 503, so that the queue delivers again and another worker runs the job if its holder dies. `ack`: 200, and
   * the queue forgets the job. Default `retry`.
   */
  readonly onLocked?: 'retry' | 'ack' | undefined
  /** The status of `locked`, for queues that slow down at 503, such as 409 or 429. Default 503. */
  readonly lockedStatus?: number | undefined
  /**
   * When the queue should deliver again. The header `Retry-After` has whole seconds, so it is rounded up. Default
   * `'30s'`.
   */
  readonly retryAfter?: Duration | undefined
  /** Requests to other paths are answered with 404. Default: any path. */
  readonly path?: string | undefined
  /**
   * The id of the job that a request asks for. Its body is read already, up to 16 KiB. What is not an id, and an error
   * that is not retryable, are answered with 400. Default: the field `id` of the body, which is JSON.
   */
  readonly idOf?: ((request: Request) => unknown) | undefined
  /** Called with every error of a run, of `authorize` or of `idOf`. Answers to the queue contain no details. */
  readonly onError?: ((error: unknown, id: string) => void) | undefined
}

/** Every default is filled in and every value checked. */
export interface CheckedTaskOptions
  extends Pick<TaskHandlerOptions, 'work' | 'authorize' | 'path' | 'onError'> {
  readonly onLocked: 'retry' | 'ack'
  readonly lockedStatus: number
  /** Whole seconds, as a text. */
  readonly retryAfter: string
  readonly idOf: (request: Request) => unknown
  readonly run: RunOptions
}

const NO_AUTHORIZE =
  "createTaskHandler: every request may start work; give it authorize, such as oidcAuthorize, or authorize: 'everyone' if nobody else can reach it"
const TASK_OPTIONS = {
  work: 1,
  authorize: 1,
  onLocked: 1,
  retryAfter: 1,
  path: 1,
  idOf: 1,
  onError: 1,
  ttl: 1,
  heartbeat: 1,
  add: 1,
  maxAttempts: 1,
  callTimeout: 1,
  lockedStatus: 1,
} as const

export function checkTaskOptions(options: TaskHandlerOptions): CheckedTaskOptions {
  expectOptions(options, TASK_OPTIONS)
  const { work, authorize, onLocked = 'retry', onError, path, idOf = idInBody } = options
  const { add, ttl, heartbeat, callTimeout, maxAttempts, lockedStatus = LOCKED_STATUS } = options
  expectFunction('work', work)
  if (authorize !== undefined && authorize !== 'everyone' && typeof authorize !== 'function')
    refuse('authorize', "a function or 'everyone'", authorize)
  if (onError !== undefined) expectFunction('onError', onError)
  expectFunction('idOf', idOf)
  if (path !== undefined && (typeof path !== 'string' || path[0] !== '/'))
    refuse('path', 'a path that begins with /', path)
  expectOneOf('onLocked', onLocked, ['retry', 'ack'])
  expectWhole('lockedStatus', lockedStatus, 400, 599)
  if (onLocked === 'ack' && options.lockedStatus !== undefined)
    refuse('lockedStatus', 'nothing with onLocked ack, which answers 200', lockedStatus)
  const retryAfter = String(secondsOf(options.retryAfter ?? RETRY_AFTER_MS))
  const run = { add, ttl, heartbeat, callTimeout, maxAttempts }
  checkRunOptions(run)
  if (authorize === undefined) warn(NO_AUTHORIZE)
  return { work, authorize, onLocked, lockedStatus, retryAfter, path, idOf, onError, run }
}

/** Accepts every content type: queues send `application/octet-stream` by default. */
async function idInBody(request: Request): Promise<unknown> {
  const { id } = Object(await request.json())
  return id
}

function secondsOf(retryAfter: unknown): number {
  // A number below 1000 was meant as seconds: the header cannot say less than one.
  const question = unitQuestion(retryAfter)
  if (question)
    refuse(
      'retryAfter',
      "milliseconds, of which the header has whole seconds, or text such as '30s'",
      retryAfter,
      question,
    )
  return Math.ceil(expectDuration('retryAfter', retryAfter, 0) / 1000)
}

export interface MemoryJobsOptions {
  readonly statuses?: JobStatuses | undefined
  readonly clock?: Clock | undefined
}

export interface SqliteJobsOptions {
  /** Created if it does not exist. Default `jobs`. */
  readonly table?: string | undefined
  /** Other names for the columns. Default: the names of `JobFields` with underscores, such as `lock_owner`. */
  readonly columns?: JobFieldNames | undefined
  readonly statuses?: JobStatuses | undefined
  /** The store's own clock. Default: the system's, which all processes of the machine share. */
  readonly clock?: Clock | undefined
}

export interface PostgresJobsOptions {
  /** Created if it does not exist. Default `jobs`. */
  readonly table?: string | undefined
  /** Default: the search path of the connection decides. */
  readonly schema?: string | undefined
  /** Other names for the columns. Default: the names of `JobFields` with underscores, such as `lock_owner`. */
  readonly columns?: JobFieldNames | undefined
  readonly statuses?: JobStatuses | undefined
  /**
   * Prepares each statement once per connection of `pg`, which is faster. Some poolers cannot do this, such as
   * PgBouncer before 1.21. Default false. The `sql` of `postgres` has its own setting.
   */
  readonly prepare?: boolean | undefined
}

export interface MysqlJobsOptions {
  /** Created if it does not exist. Default `jobs`. */
  readonly table?: string | undefined
  /** Default: the database of the connection. */
  readonly database?: string | undefined
  /** Other names for the columns. Default: the names of `JobFields` with underscores, such as `lock_owner`. */
  readonly columns?: JobFieldNames | undefined
  readonly statuses?: JobStatuses | undefined
}

export interface RedisJobsOptions {
  /** The beginning of every key, before a colon and the id. Default `jobs`. */
  readonly prefix?: string | undefined
  /** Other names for the fields, such as `{ status: 'state' }`. Default: the names of `JobFields`. */
  readonly fields?: JobFieldNames | undefined
  readonly statuses?: JobStatuses | undefined
}

export interface EtcdJobsOptions {
  /** All keys begin with it. Default `jobs/`. */
  readonly prefix?: string | undefined
  /** Other names for the fields, such as `{ status: 'state' }`. Default: the names of `JobFields`. */
  readonly fields?: JobFieldNames | undefined
  readonly statuses?: JobStatuses | undefined
}

export interface FirestoreJobsOptions {
  /** The path of the collection. Default `jobs`. */
  readonly collection?: string | undefined
  /** Other names for the fields, such as `{ status: 'state' }`. Default: the names of `JobFields`. */
  readonly fields?: JobFieldNames | undefined
  readonly statuses?: JobStatuses | undefined
}

export interface AnalysisRepoOptions extends FirestoreJobsOptions {
  /** Called if a lock could not be released. Default: `console.warn`. */
  readonly onWarning?: OnWarning | undefined
}

export interface IdOptions {
  /** The beginning of the id, such as `invoice:`. Default: none. */
  readonly prefix?: string | undefined
  /** Only these fields of the payload count. Default: all. */
  readonly fields?: readonly string[] | undefined
}

export interface OidcOptions {
  /**
   * Verifies the signature, the issuer and the time of a token, and returns its claims. It throws, or returns `null`,
   * if the token is not valid.
   */
  readonly verify: (
    token: string,
  ) => OidcClaims | null | undefined | PromiseLike<OidcClaims | null | undefined>
  /** The audience that the queue asks the token for: usually the address of the service. */
  readonly audience: string
  /** The service account of the queue. Only its tokens may start work. */
  readonly email: string
}
