import { expectFunction, hasMethods, refuse } from '../base/arguments.ts'
import { finishedResponse, incomingRequest, responseOf } from './fetch-messages.ts'
import type { IdempotencyOptions } from './options.ts'
import { Protection } from './protection.ts'

/** Also a route handler of Next: `(request, context) => Response`. */
export type FetchHandler<Q extends Request, Rest extends readonly unknown[]> = (
  request: Q,
  ...rest: Rest
) => Response | PromiseLike<Response>

/**
 * The same handler, protected by `Idempotency-Key`: of all requests with one key, one runs it, and the others get its
 * answer. For fetch handlers of every kind, and for route handlers of Next.
 *
 * @example
 * export const POST = idempotent(charge, { jobs, principal: (request) => userOf(request) })
 */
export function idempotent<Q extends Request, Rest extends readonly unknown[]>(
  handler: FetchHandler<Q, Rest>,
  options: IdempotencyOptions<Q>,
): (request: Q, ...rest: Rest) => Promise<Response> {
  expectFunction('handler', handler)
  const protection = new Protection(options)
  const { maxResponse } = protection.options
  return async (request, ...rest) => {
    if (!hasMethods(request, 'clone')) refuse('request', 'a Request of the fetch API', request)
    const verdict = await protection.handle(incomingRequest(request, request), async () => {
      const value = await handler(request, ...rest)
      return { value, answer: await finishedResponse(value, maxResponse) }
    })
    if (verdict.kind === 'pass') return handler(request, ...rest)
    return verdict.kind === 'ran' ? verdict.value : responseOf(verdict.answer)
  }
}
