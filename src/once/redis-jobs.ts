import { expectOptions } from '../base/arguments.ts'
import { followConnection } from '../clients/connection.ts'
import { expectPrefix, type RedisClient, redisDatabase } from '../clients/redis.ts'
import { redisError } from '../clients/redis-errors.ts'
import type { JobStore } from './job-store.ts'
import { DOCUMENT_FIELDS, fieldsOf, statusesOf } from './naming.ts'
import { DEFAULT_JOBS, type RedisJobsOptions } from './options.ts'
import { ANSWER_FIELDS, type RedisOperation, SCRIPTS } from './redis-scripts.ts'
import { requestJobs, unexpectedAnswer } from './request-jobs.ts'

/**
 * Jobs in Redis, one hash for each. Each operation is one script, by the server's clock. It uses your client and
 * leaves it open.
 *
 * @example
 * const once = createOnce(redisJobs(new Redis()))
 */
export function redisJobs(client: RedisClient, options: RedisJobsOptions = {}): JobStore {
  expectOptions(options, { prefix: 1, fields: 1, statuses: 1 })
  const { prefix = DEFAULT_JOBS } = options
  expectPrefix(prefix)
  const naming = JSON.stringify({
    fields: fieldsOf('fields', DOCUMENT_FIELDS, options.fields),
    statuses: statusesOf(options.statuses),
  })
  const database = redisDatabase(client)
  const { explain } = followConnection(client)

  return requestJobs({
    kind: 'redis',
    explain,
    sweepsItself: true,
    async ask(operation, id, values) {
      try {
        const args = [naming, ...values.map((value) => String(value ?? ''))]
        const answer = await database.eval(SCRIPTS[operation as RedisOperation], [`${prefix}:${id}`], args)
        if (answer === null) return null
        if (!isAnswer(answer)) throw unexpectedAnswer('redis', answer)
        return Object.fromEntries(ANSWER_FIELDS.map((field, index) => [field, answer[index]]))
      } catch (error) {
        throw explain(redisError(error, id))
      }
    },
  })
}

function isAnswer(value: unknown): value is readonly (string | null)[] {
  return Array.isArray(value) && value.every((text) => text === null || typeof text === 'string')
}
