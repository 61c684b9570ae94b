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
