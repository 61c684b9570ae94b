import type { Answer } from './answer.ts'

/** Every refusal: its status, and what it means. The code is what a client decides by. */
export const PROBLEMS = {
  idempotency_key_missing: [400, 'The request has no Idempotency-Key, and this route requires one.'],
  idempotency_key_malformed: [
    400,
    'The Idempotency-Key is not a string of a structured field, such as "8e03978e", or is too long.',
  ],
  idempotency_principal_missing: [401, 'The request does not say who sends it, so it cannot have a key.'],
  idempotency_key_in_use: [409, 'The first request with this key is still running.'],
  idempotency_answer_not_kept: [
    409,
    'The first request with this key was carried out, but its answer is not kept: it is a stream, or too large.',
  ],
  idempotency_body_too_large: [413, 'The body is larger than this route allows for requests with a key.'],
  idempotency_body_not_read: [
    415,
    'The body could not be compared: no parser has read it, or it is multipart.',
  ],
  idempotency_key_reused: [
    422,
    'The key was used for another request: another method, path, query, body or sender.',
  ],
  idempotency_store_unavailable: [503, 'It cannot be determined now whether this key was used before.'],
} as const satisfies Readonly<Record<string, readonly [status: number, meaning: string]>>

export type ProblemCode = keyof typeof PROBLEMS

/** Thrown where a request turns out to be refused. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly problem: ProblemCode

  constructor(problem: ProblemCode) {
    super(problem)
    this.problem = problem
  }
}

/** The refusal as RFC 9457 has it. `retryAfter`: seconds after which the same request may succeed. */
export function problemAnswer(code: ProblemCode, retryAfter?: number): Answer {
  const [status, title] = PROBLEMS[code]
  const headers: [string, string][] = [
    ['content-type', 'application/problem+json'],
    ['cache-control', 'no-store'],
  ]
  if (retryAfter !== undefined) headers.push(['retry-after', String(retryAfter)])
  return { status, headers, body: new TextEncoder().encode(JSON.stringify({ title, status, code })) }
}
