import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { expectMethods, expectOptions, refuse } from '../../base/arguments.ts'
import type { LockServer } from '../create.ts'
import { HttpError } from '../http/http-error.ts'
import type { ListenerOptions } from './options.ts'
import { errorResponse, refuseResponse } from './refusals.ts'

/** Also a middleware of Express: without `next`, what is not for the service gets 404. */
export type NodeListener = (request: IncomingMessage, response: ServerResponse, next?: () => void) => void

/**
 * The service as a listener of `node:http`, or as a middleware of Express. It may stand behind a parser of bodies such
 * as `express.json()`.
 *
 * @example
 * app.use(nodeListener(locks))
 */
export function nodeListener(locks: LockServer, options: ListenerOptions = {}): NodeListener {
  expectMethods('locks', locks, 'a LockServer', 'fetch')
  expectOptions(options, { path: 1 })
  const { path = '' } = options
  if (typeof path !== 'string' || !/^(\/[\w.-]+)*$/.test(path)) refuse('path', 'a path such as /locks', path)
  const listener = getRequestListener(locks.fetch, { errorHandler: errorResponse })
  return (request, response, next) => {
    const { url = '' } = request
    const isOurs = url.startsWith(`${path}/`) && (next === undefined || isForService(url.slice(path.length)))
    if (!isOurs)
      return next
        ? next()
        : refuseResponse(response, new HttpError(404, 'not_found', 'there is nothing here'))
    request.url = url.slice(path.length)
    restoreBody(request)
    void listener(request, response)
  }
}

/** Whether the path, perhaps with a query, is one of the service. */
export function isForService(path: string): boolean {
  return /^\/(api\/(documents|leases|locks|batch|sweep|audit|stats)|apps|broadcasting|telemetry|healthz|readyz|metrics|openapi\.json)([/?]|$)/.test(
    path,
  )
}

type Parsed = IncomingMessage & { readonly body?: unknown; rawBody?: Buffer }

/** A parser of bodies has read the request, so what it made of it is written again. */
function restoreBody(request: Parsed): void {
  const { body, rawBody, headers } = request
  if (body === undefined || rawBody !== undefined || !request.readableDidRead) return
  const isForm = headers['content-type']?.startsWith('application/x-www-form-urlencoded')
  const text =
    typeof body === 'string' || Buffer.isBuffer(body)
      ? body
      : isForm
        ? String(new URLSearchParams(body as Record<string, string>))
        : JSON.stringify(body)
  request.rawBody = Buffer.from(text)
  headers['content-length'] = String(request.rawBody.length)
}
