import { hasMethods, refuse } from '../base/arguments.ts'
import { isRetryable, LeaseError } from '../base/errors.ts'
import { notify } from '../base/notify.ts'
import { expectId } from './job-arguments.ts'
import type { Once } from './once.ts'
import {
  type CheckedTaskOptions,
  checkTaskOptions,
  type Delivery,
  MAX_BODY_BYTES,
  type TaskHandlerOptions,
} from './options.ts'

export type TaskHandler = (request: Request) => Promise<Response>

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
  const endpoint = new TaskEndpoint(once, checkTaskOptions(options))
  return (request) => endpoint.answer(request)
}

class TaskEndpoint {
  readonly #once: Once
  readonly #options: CheckedTaskOptions

  constructor(once: Once, options: CheckedTaskOptions) {
    this.#once = once
    this.#options = options
  }

  async answer(request: Request): Promise<Response> {
    const { authorize, path, onError } = this.#options
    if (!hasMethods(request, 'text')) refuse('request', 'a Request of the fetch API', request)
    if (path !== undefined && new URL(request.url).pathname !== path) return failure(404, 'not_found')
    if (request.method !== 'POST') return failure(405, 'method_not_allowed', { Allow: 'POST' })
    try {
      if (typeof authorize === 'function' && !(await authorize(request))) return failure(403, 'forbidden')
    } catch (error) {
      notify(onError, error, '')
      return this.#later('unavailable')
    }
    const id = await this.#idFor(request)
    return typeof id === 'string' ? this.#deliver(id, deliveryOf(request.headers)) : id
  }

  /** A `Response`: the request has no id. */
  async #idFor(request: Request): Promise<string | Response> {
    const { idOf, onError } = this.#options
    const { url, method, headers } = request
    const body = await readText(request)
    if (typeof body !== 'string') return body
    try {
      const id = await idOf(new Request(url, { method, headers, body }))
      return isId(id) ? id : failure(400, 'invalid_id')
    } catch (error) {
      notify(onError, error, '')
      if (isRetryable(error)) return this.#later('unavailable')
      return failure(400, error instanceof SyntaxError ? 'invalid_json' : 'invalid_id')
    }
  }

  async #deliver(id: string, delivery: Delivery): Promise<Response> {
    const { work, onLocked, lockedStatus, onError, run: runOptions } = this.#options
    let started = false
    try {
      const run = await this.#once.run(
        id,
        (job) => {
          started = true
          return work({ ...job, delivery })
        },
        runOptions,
      )
      if (run.ran) return success('done')
      if (run.reason !== 'locked') return success(run.reason)
      return onLocked === 'ack' ? success('locked') : this.#later('locked', lockedStatus)
    } catch (error) {
      // The work may throw a `LeaseError` of its own, which says nothing about this job.
      const { code, resource } = !started && error instanceof LeaseError ? error : {}
      if (code === 'not-found') return failure(404, 'not_found')
      if (code === 'invalid-argument' && resource === id) return failure(400, 'invalid_id')
      notify(onError, error, id)
      return this.#afterFailure(id)
    }
  }

  /** Only a finished job must not be delivered again, and only its record can tell. */
  async #afterFailure(id: string): Promise<Response> {
    const job = await this.#once.read(id).catch(() => null)
    if (!job?.finished) return this.#later('retry_later')
    return success(job.error === null ? 'already_finished' : 'failed')
  }

  #later(error: string, status = 503): Response {
    return failure(status, error, { 'Retry-After': this.#options.retryAfter })
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
