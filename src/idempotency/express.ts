import { LeaseError } from '../base/errors.ts'
import type { Answer, FinishedAnswer } from './answer.ts'
import { captureResponse, type NodeResponse } from './capture-response.ts'
import type { IdempotencyOptions } from './options.ts'
import { headerPairs, headerValues, keyIn, type ParsedRequest, parsedBody } from './parsed-body.ts'
import { type Incoming, type Produced, Protection } from './protection.ts'

/** What is used of a `Request` of Express, and its body, whose type only the handlers of the route say. */
export interface ExpressRequestLike extends Omit<ParsedRequest, 'body' | 'rawBody'> {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly originalUrl?: string | undefined
}

/** What is used of a `Response` of Express. */
export type ExpressResponseLike = NodeResponse

export type ExpressIdempotency<Q> = (
  request: Q,
  response: ExpressResponseLike,
  next: (error?: unknown) => void,
) => void

/**
 * A middleware of Express, or of another server with `(request, response, next)`, that protects the routes behind it by
 * `Idempotency-Key`. Put it behind the parser of bodies and the middleware that knows who sends the request.
 *
 * @example
 * app.post('/charges', express.json(), expressIdempotency({ jobs, principal: (req: Request) => req.user?.id }), charge)
 */
export function expressIdempotency<Q extends ExpressRequestLike = ExpressRequestLike>(
  options: IdempotencyOptions<Q>,
): ExpressIdempotency<Q> {
  const protection = new Protection(options)
  const { maxResponse, clock, ttl } = protection.options
  return (request, response, next) => {
    const produce = () =>
      new Promise<Produced<() => void>>((resolve, reject) => {
        const captured = captureResponse(response, maxResponse, (body) => {
          cancel()
          resolve({ value: captured.release, answer: finishedAnswer(response, body) })
        })
        let cancel = () => {}
        response.once('close', () => {
          if (captured.isFinished()) return
          // The client has gone. A handler that still runs will answer; one that does not must not keep the key.
          cancel = clock.setTimer(() => reject(unanswered()), ttl, true)
        })
        next()
      })
    protection.handle(incomingExpress(request), produce).then(
      (verdict) => {
        if (verdict.kind === 'pass') next()
        else if (verdict.kind === 'ran') verdict.value()
        else send(response, verdict.answer)
      },
      (error) => next(error),
    )
  }
}

function incomingExpress<Q extends ExpressRequestLike>(request: Q): Incoming<Q> {
  return {
    source: request,
    method: request.method ?? '',
    target: request.originalUrl ?? request.url ?? '',
    key: keyIn(request.headers),
    body: (limit) => parsedBody(request as ParsedRequest, limit),
  }
}

function finishedAnswer(response: NodeResponse, body: FinishedAnswer['body']): FinishedAnswer {
  return { status: response.statusCode, headers: headerPairs(response.getHeaders()), body }
}

function send(response: NodeResponse, { status, headers, body }: Answer): void {
  response.statusCode = status
  for (const [name, value] of headerValues(headers)) response.setHeader(name, value)
  response.end(body)
}

export function unanswered(): LeaseError {
  return new LeaseError('aborted', 'the client has gone, and the handler has not answered')
}
