import { expectOptions, expectText, show } from '../base/arguments.ts'
import { LeaseError } from '../base/errors.ts'
import { followConnection } from '../clients/connection.ts'
import { expectPrefix, type RedisClient, redisDatabase } from '../clients/redis.ts'
import { redisError } from '../clients/redis-errors.ts'
import { expectFinish, expectId, expectRefresh, expectRequest, notFound } from './job-arguments.ts'
import type { JobStore } from './job-store.ts'
import { DOCUMENT_FIELDS, fieldsOf, type JobFields, type JobStatuses, statusesOf } from './naming.ts'
import { ACQUIRE, ADD, FINISH, READ, REFRESH, RELEASE } from './redis-scripts.ts'
import { parseJson } from './stored-values.ts'

export interface RedisJobsOptions {
  /** The beginning of every key, before a colon and the id. Default `analyses`. */
  readonly prefix?: string
  /** Other names for the fields, such as `{ status: 'state' }`. Default: the names of `JobFields`. */
  readonly fields?: Partial<JobFields>
  readonly statuses?: JobStatuses
}

/**
 * Jobs in Redis, one hash for each. Each operation is one script, by the server's clock. It uses your client and
 * leaves it open.
 *
 * @example
 * const once = createOnce(redisJobs(new Redis()))
 */
export function redisJobs(client: RedisClient, options: RedisJobsOptions = {}): JobStore {
  expectOptions(options, { prefix: 1, fields: 1, statuses: 1 })
  const { prefix = 'analyses' } = options
  expectPrefix(prefix)
  const naming = JSON.stringify({
    fields: fieldsOf('fields', DOCUMENT_FIELDS, options.fields),
    statuses: statusesOf(options.statuses),
  })
  const database = redisDatabase(client)
  const { explain } = followConnection(client)

  return {
    kind: 'redis',
    explain,
    async add(id) {
      expectId(id)
      await run(ADD, id)
    },
    async acquire(id, owner, ttlMs, acquireOptions) {
      const { maxAttempts = '' } = expectRequest(id, owner, ttlMs, acquireOptions)
      const [answer, ...numbers] = await run(ACQUIRE, id, owner, ttlMs, maxAttempts)
      switch (answer) {
        case 'already_finished':
        case 'too_many_attempts':
          return { acquired: false, reason: answer }
        case 'locked':
          return { acquired: false, reason: answer, remaining: numberIn(numbers, 0) }
        case 'granted':
          return {
            acquired: true,
            token: numberIn(numbers, 0),
            attempt: numberIn(numbers, 1),
            expiresAt: numberIn(numbers, 2),
            remaining: numberIn(numbers, 3),
          }
        default:
          throw unexpected(answer)
      }
    },
    async refresh(id, owner, ttlMs) {
      expectRefresh(id, owner, ttlMs)
      const [answer, ...numbers] = await run(REFRESH, id, owner, ttlMs)
      if (answer !== 'extended') return null
      return { expiresAt: numberIn(numbers, 0), remaining: numberIn(numbers, 1) }
    },
    async finish(id, holder, outcome) {
      expectFinish(id, holder, outcome)
      const values =
        'error' in outcome
          ? ['failed', 'error', outcome.error]
          : ['ready', 'result', JSON.stringify(outcome.result ?? null)]
      const [answer] = await run(FINISH, id, holder.owner, holder.token, ...values)
      return answer === 'written'
    },
    async release(id, owner) {
      expectId(id)
      expectText('owner', owner)
      const [answer] = await run(RELEASE, id, owner)
      return answer === 'released'
    },
    async read(id) {
      expectId(id)
      const found = await answerTo(READ, id)
      if (!found) return null
      const [state, , status = null, result, error = null] = found
      return {
        id,
        status,
        finished: state === 'finished',
        result: parseJson(result),
        error,
        attempts: numberIn(found, 1),
      }
    },
  }

  async function run(script: string, id: string, ...values: (string | number)[]): Promise<Answer> {
    const answer = await answerTo(script, id, ...values)
    if (!answer) throw notFound(id)
    return answer
  }

  /** `null`: the job does not exist. */
  async function answerTo(script: string, id: string, ...values: (string | number)[]) {
    try {
      const answer = await database.eval(script, [`${prefix}:${id}`], [naming, ...values.map(String)])
      if (answer !== null && !isAnswer(answer)) throw unexpected(answer)
      return answer
    } catch (error) {
      throw explain(redisError(error, id))
    }
  }
}

type Answer = readonly (string | null)[]

function isAnswer(value: unknown): value is Answer {
  return Array.isArray(value) && value.every((text) => text === null || typeof text === 'string')
}

function numberIn(answer: Answer, index: number): number {
  const number = Number(answer[index] ?? Number.NaN)
  if (Number.isNaN(number)) throw unexpected(answer)
  return number
}

function unexpected(answer: unknown): LeaseError {
  return new LeaseError('store-failed', `Redis: expected the answer of the script, got ${show(answer)}`)
}
