import type { Answer, FinishedAnswer } from './answer.ts'
import { unanswered } from './express.ts'
import type { IdempotencyOptions } from './options.ts'
import {
  headerPairs,
  headerValues,
  keyIn,
  type NodeHeaders,
  type ParsedRequest,
  parsedBody,
} from './parsed-body.ts'
import { type Incoming, type Produced, Protection, type Verdict } from './protection.ts'

/** What is used of a `FastifyRequest`. */
export interface FastifyRequestLike {
  readonly method: string
  readonly originalUrl: string
  readonly headers: NodeHeaders
  readonly body?: unknown
  readonly raw: Pick<ParsedRequest, 'readableDidRead' | 'httpVersionMajor'>
}

/** What is used of a `FastifyReply`. */
export interface FastifyReplyLike {
  readonly statusCode: number
  readonly raw: { once(event: 'close', listener: () => void): unknown }
  code(status: number): unknown
  header(name: string, value: unknown): unknown
  getHeaders(): NodeHeaders
  send(payload?: unknown): unknown
}

/** Hooks of a route or of an instance. */
export interface FastifyIdempotency<Q> {
  preHandler(this: void, request: Q, reply: FastifyReplyLike): Promise<unknown>
  onSend(this: void, request: Q, reply: FastifyReplyLike, payload: unknown): Promise<unknown>
}

/**
 * Two hooks of Fastify that protect a route by `Idempotency-Key`. For all routes of an instance, give each of them to
 * `addHook`.
 *
 * @example
 * const hooks = fastifyIdempotency({ jobs, principal: (request: FastifyRequest) => request.user.id })
 * app.post('/charges', hooks, charge)
 */
export function fastifyIdempotency<Q extends FastifyRequestLike = FastifyRequestLike>(
  options: IdempotencyOptions<Q>,
): FastifyIdempotency<Q> {
  const protection = new Protection(options)
  const { maxResponse, clock, ttl } = protection.options
  /** The requests whose handlers run, and what to call with their answers. */
  const running = new WeakMap<Q, (answer: FinishedAnswer) => Promise<unknown>>()
  return {
    async preHandler(request, reply) {
      let start = () => {}
      const started = new Promise<null>((resolve) => {
        start = () => resolve(null)
      })
      const handled: Promise<Verdict<null>> = protection.handle(
        incomingFastify(request),
        () =>
          new Promise<Produced<null>>((resolve, reject) => {
            let cancel = () => {}
            running.set(request, (answer) => {
              cancel()
              resolve({ value: null, answer })
              return handled
            })
            reply.raw.once('close', () => {
              if (running.has(request)) cancel = clock.setTimer(() => reject(unanswered()), ttl, true)
            })
            start()
          }),
      )
      const verdict = await Promise.race([handled, started])
      // From here on, `onSend` waits for it.
      handled.catch(() => {})
      if (verdict?.kind !== 'answer') return undefined
      send(reply, verdict.answer)
      return reply
    },
    async onSend(request, reply, payload) {
      const finish = running.get(request)
      running.delete(request)
      const { statusCode: status } = reply
      const headers = headerPairs(reply.getHeaders())
      await finish?.({ status, headers, body: bodyOf(payload, maxResponse) }).catch(() => {})
      return payload
    },
  }
}

function incomingFastify<Q extends FastifyRequestLike>(request: Q): Incoming<Q> {
  const { method, originalUrl, headers, body, raw } = request
  const { readableDidRead, httpVersionMajor } = raw
  return {
    source: request,
    method,
    target: originalUrl,
    key: keyIn(headers),
    body: (limit) => parsedBody({ headers, body, readableDidRead, httpVersionMajor }, limit),
  }
}

function bodyOf(payload: unknown, limit: number): FinishedAnswer['body'] {
  const bytes =
    typeof payload === 'string'
      ? new TextEncoder().encode(payload)
      : payload instanceof Uint8Array
        ? payload.slice()
        : new Uint8Array()
  if (bytes.length === 0 && typeof payload === 'object' && payload && !(payload instanceof Uint8Array))
    return 'stream'
  return bytes.length > limit ? 'too-large' : bytes
}

function send(reply: FastifyReplyLike, { status, headers, body }: Answer): void {
  reply.code(status)
  for (const [name, value] of headerValues(headers)) reply.header(name, value)
  // Without a body, Fastify sends no type of its own.
  reply.send(body.length > 0 ? Buffer.from(body.buffer, body.byteOffset, body.length) : undefined)
}
