/**
 * What every adapter does with a request that has a key. The state of a key is the state of its job in the store:
 *
 *     unused → in use → answered, until `keep` is over
 *        ↑________|  the handler threw, its answer is not kept, or its process died
 *
 * The first request runs the handler. Its answer is stored before it is sent, so a client that repeats the request at
 * once finds it. A request meanwhile waits or is 409. A later one gets the stored answer.
 */

import { refuse } from '../base/arguments.ts'
import { notify } from '../base/notify.ts'
import { CALL_TIMEOUT_MS } from '../base/options.ts'
import type { JsonValue } from '../base/records.ts'
import { idOf, type RunningJob } from '../once/index.ts'
import { type Answer, decodeAnswer, encodeAnswer, type FinishedAnswer } from './answer.ts'
import { parseKey } from './key.ts'
import { type CheckedOptions, checkOptions, type IdempotencyOptions } from './options.ts'
import { type ProblemCode, problemAnswer, Refusal } from './problems.ts'

/** A request, as an adapter shows it. */
export interface Incoming<R> {
  /** What the functions of the options get. */
  readonly source: R
  readonly method: string
  /** The path with its query. */
  readonly target: string
  readonly key: string | null
  /** What of the body is compared. Throws a `Refusal` if it has more than `limit` bytes or cannot be read. */
  body(limit: number): Promise<JsonValue>
}

/** What the handler has answered. `value`: for the adapter. `answer`: what is to be stored. */
export interface Produced<T> {
  readonly value: T
  readonly answer: FinishedAnswer
}

export type Verdict<T> =
  /** The request is not concerned: the handler runs as usual. */
  | { readonly kind: 'pass' }
  /** The handler has run, and this is what the adapter made of it. */
  | { readonly kind: 'ran'; readonly value: T }
  /** The handler is not run: the client gets this answer. */
  | { readonly kind: 'answer'; readonly answer: Answer }

/** What the handler of a request with a key gets to know, by `idempotencyOf`. */
export interface IdempotentRun extends Pick<RunningJob, 'token' | 'attempt' | 'signal'> {
  readonly key: string
}

const runs = new WeakMap<object, IdempotentRun>()

/**
 * The key, the token, the attempt and the signal of a request whose handler runs; `undefined` if it has no key.
 * Above attempt 1, an earlier process died or lost the key, and its effects may have happened.
 *
 * @example
 * const { token, signal } = idempotencyOf(request) ?? {}
 */
export function idempotencyOf(request: object): IdempotentRun | undefined {
  return runs.get(request)
}

export class Protection<R extends object> {
  readonly options: CheckedOptions<R>

  constructor(options: IdempotencyOptions<R>) {
    this.options = checkOptions(options)
  }

  /** `produce` runs the handler. It is called at most once. */
  async handle<T>(incoming: Incoming<R>, produce: () => Promise<Produced<T>>): Promise<Verdict<T>> {
    const { methods, required } = this.options
    if (!methods.has(incoming.method)) return { kind: 'pass' }
    if (incoming.key === null && !required) return { kind: 'pass' }
    try {
      const key = this.#keyOf(incoming)
      const { id, payload } = await this.#identify(incoming, key)
      return await this.#runOnce(incoming.source, { id, key, payload }, produce)
    } catch (error) {
      if (error instanceof Refusal) return this.#refused(error.problem)
      throw error
    }
  }

  #keyOf({ key }: Incoming<R>): string {
    if (key === null) throw new Refusal('idempotency_key_missing')
    return parseKey(key, this.options.format) ?? throwRefusal('idempotency_key_malformed')
  }

  /** The id of the job, which nobody else can name, and what every request with the key must have. */
  async #identify(incoming: Incoming<R>, key: string): Promise<{ id: string; payload: JsonValue }> {
    const { source, method, target } = incoming
    const { principal, scope, fingerprint, maxRequest, prefix } = this.options
    const sender = principal === 'everyone' ? null : senderOf(await principal(source))
    const within = scope ? await scope(source) : sender
    if (scope && (typeof within !== 'string' || !within)) refuse('scope', 'a text', within)
    const [id, body] = await Promise.all([
      idOf([within, key], { prefix }),
      fingerprint ? fingerprint(source) : incoming.body(maxRequest),
    ])
    return { id, payload: { method, target, sender, body } }
  }

  async #runOnce<T>(
    source: R,
    { id, key, payload }: { id: string; key: string; payload: JsonValue },
    produce: () => Promise<Produced<T>>,
  ): Promise<Verdict<T>> {
    const { options } = this
    const { once, clock, onError, keep, wait, ttl } = options
    let produced: Produced<T> | undefined
    let failure: { readonly error: unknown } | undefined
    let cancelTimer = () => {}
    let isLate = false
    let giveUp = () => {}
    const late = new Promise<null>((resolve) => {
      giveUp = () => {
        isLate = true
        resolve(null)
      }
    })

    const stored = once.result(
      id,
      async ({ token, attempt, signal }) => {
        runs.set(source, { key, token, attempt, signal })
        try {
          produced = await produce()
        } catch (error) {
          failure = { error }
          throw error
        }
        // The client has waited for the handler. A store that is away now must not make it wait for minutes.
        cancelTimer = clock.setTimer(giveUp, CALL_TIMEOUT_MS)
        if (!isKept(produced.answer, options)) throw new NotKept()
        return encodeAnswer(storedPart(produced.answer, options))
      },
      { payload, keep, wait, ttl },
    )
    stored.catch((error) => {
      if (isLate && !(error instanceof NotKept)) notify(onError, error, key)
    })
    try {
      const outcome = await Promise.race([stored, late])
      if (produced) return { kind: 'ran', value: produced.value }
      return this.#replay(outcome?.result ?? null)
    } catch (error) {
      if (failure) throw failure.error
      if (!produced) return this.#verdictOf(error, key)
      // The handler has answered, and only the client that asked gets to see it: the key was lost, or the store failed.
      if (!(error instanceof NotKept)) notify(onError, error, key)
      return { kind: 'ran', value: produced.value }
    } finally {
      cancelTimer()
    }
  }

  #verdictOf(error: unknown, key: string): Verdict<never> {
    const { code } = Object(error) as { readonly code?: unknown }
    if (code === 'payload-mismatch') return this.#refused('idempotency_key_reused')
    if (code === 'not-finished') return this.#refused('idempotency_key_in_use')
    // The answer was one that the store could not store.
    if (code === 'job-failed') return this.#refused('idempotency_answer_not_kept')
    const { onError, onUnavailable } = this.options
    notify(onError, error, key)
    return onUnavailable === 'pass' ? { kind: 'pass' } : this.#refused('idempotency_store_unavailable')
  }

  #refused(problem: ProblemCode): Verdict<never> {
    const isTemporary = problem === 'idempotency_key_in_use' || problem === 'idempotency_store_unavailable'
    return {
      kind: 'answer',
      answer: problemAnswer(problem, isTemporary ? this.options.retryAfter : undefined),
    }
  }

  #replay(result: JsonValue): Verdict<never> {
    const answer = decodeAnswer(result)
    if (!answer) return this.#refused('idempotency_answer_not_kept')
    return {
      kind: 'answer',
      answer: { ...answer, headers: [...answer.headers, ['idempotent-replayed', 'true']] },
    }
  }
}

/** Ends a run whose answer is not kept: the key can be used again. */
class NotKept extends Error {}

function throwRefusal(problem: ProblemCode): never {
  throw new Refusal(problem)
}

function senderOf(principal: unknown): string {
  if (principal === undefined || principal === null || principal === '')
    throw new Refusal('idempotency_principal_missing')
  if (typeof principal !== 'string') refuse('principal', 'a function that returns a text', principal)
  return principal
}

function isKept<R>({ status, headers }: FinishedAnswer, { keeps }: CheckedOptions<R>): boolean {
  // 101 and the like are no answers that could be sent again.
  if (status < 200) return false
  const kept = keeps({ status, headers: new Headers(headers.map(([name, value]) => [name, value])) })
  if (typeof kept !== 'boolean') refuse('keeps', 'a function that returns true or false', kept)
  return kept
}

function storedPart<R>(answer: FinishedAnswer, { headers }: CheckedOptions<R>): FinishedAnswer {
  return { ...answer, headers: answer.headers.filter(([name]) => headers.has(name)) }
}
