import { systemClock } from '../base/clock.ts'
import { LeaseError } from '../base/errors.ts'
import { pause } from '../base/pause.ts'
import type { DocumentDecision, DocumentFields } from './document-jobs.ts'

/** A write fails only if another one came first, so this many in a row are many other workers. */
const MAX_WRITES = 20
const MAX_PAUSE_MS = 50

/**
 * Reads a record, decides, and writes only if the record is as it was read; otherwise all of it again. Nobody holds a
 * lock of the backend meanwhile, so a worker that stops half-way blocks no other. `write` resolves with whether the
 * record was unchanged.
 */
export async function writeUnlessChanged<R, T>(
  read: () => Promise<R>,
  decide: (record: R) => DocumentDecision<T>,
  write: (fields: DocumentFields, record: R) => Promise<boolean>,
): Promise<T> {
  for (let writes = 1; writes <= MAX_WRITES; writes++) {
    const record = await read()
    const { answer, fields } = decide(record)
    if (!fields || (await write(fields, record))) return answer
    await pause(systemClock, systemClock.random() * MAX_PAUSE_MS)
  }
  throw new LeaseError('store-unavailable', `others changed the job before each of ${MAX_WRITES} writes`)
}
