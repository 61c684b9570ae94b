/*
 * Routes that run once for each `Idempotency-Key`. `protection.ts` decides what becomes of a request: it passes,
 * runs, or gets an answer. A key is the id of a job of `once.result`; method, path, query, body and principal are
 * its payload. An adapter shows its framework's request as `Incoming` and turns the verdict into its answer. Fetch
 * handlers read a clone, so that the application's handler gets the request itself. `capture-response.ts` holds back
 * what a handler writes to a response of Node until the answer is stored. `problems.ts` is the table of all
 * refusals.
 */
export type { Clock } from '../base/clock.ts'
export type { Duration } from '../base/duration.ts'
export type { JsonValue } from '../base/records.ts'
export type { JobStore, Once } from '../once/index.ts'
export {
  type ExpressIdempotency,
  type ExpressRequestLike,
  type ExpressResponseLike,
  expressIdempotency,
} from './express.ts'
export {
  type FastifyIdempotency,
  type FastifyReplyLike,
  type FastifyRequestLike,
  fastifyIdempotency,
} from './fastify.ts'
export { type HonoContextLike, type HonoIdempotency, honoIdempotency } from './hono.ts'
export { type FetchHandler, idempotent } from './idempotent.ts'
export { idempotentFetch } from './idempotent-fetch.ts'
export type { KeyFormat } from './key.ts'
export type { AnswerHead, IdempotencyOptions, IdempotentFetchOptions } from './options.ts'
export type { ProblemCode } from './problems.ts'
export { type IdempotentRun, idempotencyOf } from './protection.ts'
