import {
  expectFunction,
  expectOneOf,
  expectOptions,
  expectWhole,
  hasMethods,
  refuse,
} from '../base/arguments.ts'
import { type Duration, expectDuration, unitQuestion } from '../base/duration.ts'
import { isRetryable, LeaseError } from '../base/errors.ts'
import { notify } from '../base/notify.ts'
import { warn } from '../base/warn.ts'
import { expectId } from './job-arguments.ts'
import type { Once } from './once.ts'
import { checkRunOptions, type JobWork, type RunOptions } from './run.ts'

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
  readonly work: (job: Parameters<JobWork<unknown>>[0] & { readonly delivery: Delivery }) => unknown
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

export type TaskHandler = (request: Request) => Promise<Response>

const NO_AUTHORIZE =
  "createTaskHandler: every request may start work; give it authorize, such as oidcAuthorize, or authorize: 'everyone' if nobody else can reach it"
const MAX_BODY_BYTES = 16_384
/** The names of the options. */
const OPTIONS = {
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

/**
 * The endpoint that a queue such as Cloud Tasks delivers to: `POST` with `{ "id": "…" }`. It answers 200 if
 * the job is finished, successful or not, and 503 with `Retry-After` if the queue should deliver it again.
 *
 * @example
 * const authorize = oidcAuthorize({ verify, audience, email })
 * const handle = createTaskHandler(once, { work: ({ id, signal }) => sendInvoice(id, signal), authorize })
 * Deno.serve(handle)
 */
export function createTaskHandler(once: Once, options: TaskHandlerOptions): TaskHandler {
  if (!hasMethods(once, 'run', 'read')) refuse('once', 'what createOnce returns', once)
  expectOptions(options, OPTIONS)
  const { work, authorize, onLocked = 'retry', onError, path, idOf = idInBody } = options
  const { add, ttl, heartbeat, callTimeout, maxAttempts, lockedStatus = 503 } = options
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
  const retryAfter = String(secondsOf(options.retryAfter ?? '30s'))
  const runOptions = checkRunOptions({ add, ttl, heartbeat, callTimeout, maxAttempts })
  if (authorize === undefined) warn(NO_AUTHORIZE)

  return async (request) => {
    if (!hasMethods(request, 'text')) refuse('request', 'a Request of the fetch API', request)
    if (path !== undefined && new URL(request.url).pathname !== path) return failure(404, 'not_found')
    if (request.method !== 'POST') return failure(405, 'method_not_allowed', { Allow: 'POST' })
    try {
      if (typeof authorize === 'function' && !(await authorize(request))) return failure(403, 'forbidden')
    } catch (error) {
      notify(onError, error, '')
      return later('unavailable')
    }
    const id = await idFor(request)
    return typeof id === 'string' ? deliver(id, deliveryOf(request.headers)) : id
  }

  /** A `Response`: the request has no id. */
  async function idFor(request: Request): Promise<string | Response> {
    const { url, method, headers } = request
    const body = await readText(request)
    if (typeof body !== 'string') return body
    try {
      const id = await idOf(new Request(url, { method, headers, body }))
      return isId(id) ? id : failure(400, 'invalid_id')
    } catch (error) {
      notify(onError, error, '')
      if (isRetryable(error)) return later('unavailable')
      return failure(400, error instanceof SyntaxError ? 'invalid_json' : 'invalid_id')
    }
  }

  async function deliver(id: string, delivery: Delivery): Promise<Response> {
    let started = false
    try {
      const run = await once.run(
        id,
        (job) => {
          started = true
          return work({ ...job, delivery })
        },
        runOptions,
      )
      if (run.ran) return success('done')
      if (run.reason !== 'locked') return success(run.reason)
      return onLocked === 'ack' ? success('locked') : later('locked', lockedStatus)
    } catch (error) {
      // The work may throw a `LeaseError` of its own, which says nothing about this job.
      const { code, resource } = !started && error instanceof LeaseError ? error : {}
      if (code === 'not-found') return failure(404, 'not_found')
      if (code === 'invalid-argument' && resource === id) return failure(400, 'invalid_id')
      notify(onError, error, id)
      return afterFailure(id)
    }
  }

  /** Only a finished job must not be delivered again, and only its record can tell. */
  async function afterFailure(id: string): Promise<Response> {
    const job = await once.read(id).catch(() => null)
    if (!job?.finished) return later('retry_later')
    return success(job.error === null ? 'already_finished' : 'failed')
  }

  function later(error: string, status = 503): Response {
    return failure(status, error, { 'Retry-After': retryAfter })
  }
}

/** Of Cloud Tasks, and of Cloud Tasks on App Engine. */
function deliveryOf(headers: Headers): Delivery {
  const header = (name: string) => headers.get(`X-CloudTasks-${name}`) ?? headers.get(`X-AppEngine-${name}`)
  const retryCount = header('TaskRetryCount') ?? ''
  return {
    retryCount: /^\d{1,9}$/.test(retryCount) ? Number(retryCount) : null,
    queue: header('QueueName'),
    task: header('TaskName'),
  }
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

/** Accepts every content type: queues send `application/octet-stream` by default. */
async function idInBody(request: Request): Promise<unknown> {
  const { id } = Object(await request.json())
  return id
}

function isId(id: unknown): id is string {
  try {
    expectId(id)
    return true
  } catch {
    return false
  }
}

/** A `Response`: the body is refused. Counts the bytes while it reads, because a `Content-Length` may be wrong. */
async function readText(request: Request): Promise<string | Response> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let bytes = 0
  let text = ''
  try {
    for await (const chunk of request.body ?? []) {
      bytes += chunk.length
      if (bytes > MAX_BODY_BYTES) return failure(413, 'body_too_large')
      text += decoder.decode(chunk, { stream: true })
    }
    return text + decoder.decode()
  } catch {
    return failure(400, 'invalid_body')
  }
}

function success(status: string): Response {
  return Response.json({ status })
}

function failure(status: number, error: string, headers: Record<string, string> = {}): Response {
  return Response.json({ error }, { status, headers })
}
