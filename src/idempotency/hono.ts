import { finishedResponse, incomingRequest, responseOf } from './fetch-messages.ts'
import type { IdempotencyOptions } from './options.ts'
import { Protection } from './protection.ts'

/** What is used of a `Context` of Hono. */
export interface HonoContextLike {
  readonly req: {
    readonly raw: Request
    arrayBuffer(): Promise<ArrayBuffer>
    header(name: string): string | undefined
  }
  readonly res: Response
}

export type HonoIdempotency<C> = (c: C, next: () => Promise<void>) => Promise<Response | undefined>

/**
 * A middleware of Hono that protects the routes behind it by `Idempotency-Key`. Put it behind the middleware that knows
 * who sends the request.
 *
 * @example
 * app.post('/charges', honoIdempotency({ jobs, principal: (c: Context) => c.get('userId') }), charge)
 */
export function honoIdempotency<C extends HonoContextLike = HonoContextLike>(
  options: IdempotencyOptions<C>,
): HonoIdempotency<C> {
  const protection = new Protection(options)
  const { maxResponse } = protection.options
  return async (c, next) => {
    const { raw } = c.req
    // An earlier middleware, such as a validator, may have read the body. Hono keeps it then.
    const incoming = incomingRequest(c, raw, () => c.req.arrayBuffer())
    const verdict = await protection.handle(incoming, async () => {
      await next()
      return { value: null, answer: await finishedResponse(c.res, maxResponse) }
    })
    if (verdict.kind === 'answer') return responseOf(verdict.answer)
    if (verdict.kind === 'pass') await next()
    return undefined
  }
}
