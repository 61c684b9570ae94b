import type { AnswerLimit } from '../base/answer-limit.ts'
import { answerWithin } from '../base/answer-within.ts'
import { systemClock } from '../base/clock.ts'
import { LeaseError } from '../base/errors.ts'
import { pause } from '../base/pause.ts'
import type { DocumentDecision, DocumentFields } from './document-format.ts'
import { MAX_PAUSE_MS, MAX_WRITES } from './options.ts'

/** A record that is read and then written without a lock of the backend. */
export interface OptimisticRecord<R> {
  read(): Promise<R>
  /** Resolves with whether the record was as it was read, and so is written. */
  write(fields: DocumentFields, record: R): Promise<boolean>
  /** For all requests together. `undefined`: no caller has a limit. */
  readonly limit: AnswerLimit | undefined
}

/**
 * Reads a record, decides, and writes only if the record is as it was read; otherwise all of it again. Nobody holds a
 * lock of the backend meanwhile, so a worker that stops half-way blocks no other.
 *
 * After the limit, if there is one, callers have given up, and no further request is sent. A late write would lock a
 * job after its lock was released, and the application may have closed the client.
 */
export function writeUnlessChanged<R, T>(
  stored: OptimisticRecord<R>,
  decide: (record: R) => DocumentDecision<T>,
  clock = systemClock,
): Promise<T> {
  const { limit } = stored
  let isLate = false
  const expectInTime = () => {
    if (isLate) throw new LeaseError('store-unavailable', `no answer within ${limit?.ms} ms`)
  }
  const work = async () => {
    for (let writes = 1; writes <= MAX_WRITES; writes++) {
      expectInTime()
      const record = await stored.read()
      const { answer, fields } = decide(record)
      if (!fields) return answer
      expectInTime()
      if (await stored.write(fields, record)) return answer
      await pause(clock, clock.random() * MAX_PAUSE_MS)
    }
    throw new LeaseError('store-unavailable', `others changed the job before each of ${MAX_WRITES} writes`)
  }
  const answer = work()
  if (limit)
    answerWithin(answer, limit.ms, { clock }).catch(() => {
      isLate = true
    })
  return answer
}
