import { expectOptions } from '../base/arguments.ts'
import { type Channel, createChannel } from '../base/channel.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { type DocumentFields, documentJobs, type JobDocument, type JobDocuments } from './document-jobs.ts'
import type { JobStore } from './job-store.ts'
import { DOCUMENT_FIELDS, type JobStatuses, statusesOf } from './naming.ts'
import { parseTime } from './stored-values.ts'

export interface MemoryJobsOptions {
  readonly statuses?: JobStatuses | undefined
  readonly clock?: Clock | undefined
}

/**
 * Jobs of one process, for tests.
 *
 * @example
 * const once = createOnce(memoryJobs())
 */
export function memoryJobs(options: MemoryJobsOptions = {}): JobStore {
  expectOptions(options, { statuses: 1, clock: 1 })
  const { statuses, clock = systemClock } = options
  const records = new Map<string, { readonly fields: DocumentFields; readonly updatedAt: number }>()
  const watchers = new Map<string, Channel<void>>()

  const documents: JobDocuments = {
    kind: 'memory',
    async create(id, fields) {
      if (!records.has(id)) write(id, fields)
    },
    read: async (id) => documentOf(id),
    async transact(id, decide) {
      const { answer, fields } = decide(documentOf(id))
      if (fields) write(id, fields)
      return answer
    },
    async sweep(limit) {
      const now = clock.now()
      const { keptUntil: keptUntilField, lockExpiresAt } = DOCUMENT_FIELDS
      const over = [...records].filter(([, { fields }]) => {
        const [keptUntil, lockEnd] = [fields[keptUntilField], fields[lockExpiresAt]].map(parseTime)
        return typeof keptUntil === 'number' && keptUntil <= now && !(Number(lockEnd) > now)
      })
      for (const [id] of over.slice(0, limit)) records.delete(id)
      return Math.min(over.length, limit)
    },
    watch(id, on) {
      const channel = watchers.get(id) ?? createChannel<void>()
      watchers.set(id, channel)
      const unsubscribe = channel.subscribe(on)
      return () => {
        unsubscribe()
        if (!channel.isHeard && watchers.get(id) === channel) watchers.delete(id)
      }
    },
  }
  return documentJobs(documents, DOCUMENT_FIELDS, statusesOf(statuses))

  function documentOf(id: string): JobDocument | null {
    const record = records.get(id)
    if (!record) return null
    const { fields, updatedAt } = record
    return { get: (field) => structuredClone(fields[field]), now: clock.now(), updatedAt }
  }

  function write(id: string, fields: DocumentFields): void {
    const before = records.get(id)?.fields
    records.set(id, { fields: structuredClone({ ...before, ...fields }), updatedAt: clock.now() })
    watchers.get(id)?.emit()
  }
}
