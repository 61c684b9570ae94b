import { LeaseError } from '../core/index.ts'
import { expectCallback, expectId, refuse } from './checks.ts'
import type { Once } from './once.ts'
import { checkRunOptions, type RunOptions, type Work } from './run.ts'
import { BadRequest, readJson } from './task-body.ts'
import { tell } from './telling.ts'

export interface TaskHandlerOptions extends Pick<RunOptions, 'ttl' | 'heartbeat' | 'maxAttempts'> {
  /** The job itself. */
  readonly work: Work<unknown>
  /** Whether this request may start work, such as by its OIDC token. Default: everybody may. */
  readonly authorize?: (request: Request) => boolean | PromiseLike<boolean>
  /**
   * `retry` (default): 503, so that the queue delivers again and somebody runs the job if its holder dies.
   * `ack`: 200, and the queue forgets it.
   */
  readonly onLocked?: 'retry' | 'ack'
  /** Seconds after which the queue should deliver again. Default 30. */
  readonly retryAfter?: number
  /** Default `/internal/tasks/analysis`. */
  readonly path?: string
  /** Hears of every run that rejected. Answers to the queue carry no details. */
  readonly onError?: (error: unknown, analysisId: string) => void
}

export type TaskHandler = (request: Request) => Promise<Response>

/**
 * The endpoint that a queue such as Cloud Tasks delivers to: `POST` with `{ "analysisId": "…" }`. It answers 200
 * for what is done, for good or ill, and 503 with `Retry-After` for what is to be delivered again.
 *
 * @example
 * const handle = createTaskHandler(once, { work: ({ id, signal }) => analyse(id, signal) })
 * Deno.serve(handle)
 */
export function createTaskHandler(once: Once, options: TaskHandlerOptions): TaskHandler {
  const { work, authorize, onLocked = 'retry', retryAfter = 30, onError } = options
  const { path = '/internal/tasks/analysis', ttl, heartbeat, maxAttempts } = options
  if (typeof once?.run !== 'function') refuse('once', 'what createOnce returns', once)
  if (typeof work !== 'function') refuse('work', 'a function', work)
  expectCallback('authorize', authorize)
  expectCallback('onError', onError)
  if (typeof path !== 'string' || path[0] !== '/') refuse('path', 'a path that begins with /', path)
  if (onLocked !== 'retry' && onLocked !== 'ack') refuse('onLocked', `'retry' or 'ack'`, onLocked)
  if (!Number.isInteger(retryAfter) || retryAfter < 0)
    refuse('retryAfter', 'whole seconds from 0', retryAfter)
  const runOptions: RunOptions = {
    ...(ttl !== undefined && { ttl }),
    ...(heartbeat !== undefined && { heartbeat }),
    maxAttempts,
  }
  checkRunOptions(runOptions)

  return async (request) => {
    if (new URL(request.url).pathname !== path) return failure(404, 'not_found')
    if (request.method !== 'POST') return failure(405, 'method_not_allowed', { Allow: 'POST' })
    try {
      if (authorize && !(await authorize(request))) return failure(403, 'forbidden')
    } catch (error) {
      tell(() => onError?.(error, ''))
      return later('unavailable')
    }
    try {
      return await deliver(analysisIdOf(await readJson(request)))
    } catch (error) {
      if (error instanceof BadRequest) return failure(error.status, error.code)
      throw error
    }
  }

  async function deliver(id: string): Promise<Response> {
    let started = false
    try {
      const run = await once.run(
        id,
        (job) => {
          started = true
          return work(job)
        },
        runOptions,
      )
      if (run.ran) return success('done')
      if (run.reason !== 'locked') return success(run.reason)
      return onLocked === 'ack' ? success('locked') : later('locked')
    } catch (error) {
      // An error of the same class that the work threw is the work's own affair.
      const { code, resource } = !started && error instanceof LeaseError ? error : {}
      if (code === 'not-found') return failure(404, 'not_found')
      if (code === 'invalid-argument' && resource === id) return failure(400, 'invalid_analysis_id')
      tell(() => onError?.(error, id))
      return afterFailure(id)
    }
  }

  /** What is final is not to be delivered again, all else is; which it is, only the record can say. */
  async function afterFailure(id: string): Promise<Response> {
    const job = await once.read(id).catch(() => null)
    if (!job?.finished) return later('retry_later')
    return success(job.error === null ? 'already_finished' : 'failed')
  }

  function later(error: string): Response {
    return failure(503, error, { 'Retry-After': String(retryAfter) })
  }
}

function analysisIdOf(body: unknown): string {
  const { analysisId } = Object(body) as { readonly analysisId?: unknown }
  try {
    expectId(analysisId as string)
  } catch {
    throw new BadRequest(400, 'invalid_analysis_id')
  }
  return analysisId as string
}

function success(status: string): Response {
  return Response.json({ status })
}

function failure(status: number, error: string, headers: Record<string, string> = {}): Response {
  return Response.json({ error }, { status, headers })
}
