import { type Clock, systemClock } from '../core/index.ts'
import { type Documents, documentJobs, type Fields, type JobDocument } from './document-jobs.ts'
import type { JobStore } from './job-store.ts'
import { DOCUMENT_FIELDS, type JobStatuses, statusesOf } from './naming.ts'

export interface MemoryJobsOptions {
  readonly statuses?: JobStatuses
  readonly clock?: Clock
}

/**
 * Jobs of one process, for tests.
 *
 * @example
 * const once = createOnce(memoryJobs())
 */
export function memoryJobs({ statuses, clock = systemClock }: MemoryJobsOptions = {}): JobStore {
  const records = new Map<string, { readonly fields: Fields; readonly updatedAt: number }>()
  const watchers = new Map<string, Set<() => void>>()

  const documents: Documents = {
    kind: 'memory',
    async create(id, fields) {
      if (!records.has(id)) write(id, fields)
    },
    read: async (id) => look(id),
    async transact(id, decide) {
      const { answer, fields } = decide(look(id))
      if (fields) write(id, fields)
      return answer
    },
    watch(id, on) {
      const listeners = watchers.get(id) ?? new Set()
      watchers.set(id, listeners)
      // An entry of its own, so that the same function may watch twice.
      const listener = () => on()
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
        if (listeners.size === 0 && watchers.get(id) === listeners) watchers.delete(id)
      }
    },
  }
  return documentJobs(documents, DOCUMENT_FIELDS, statusesOf(statuses))

  function look(id: string): JobDocument | null {
    const record = records.get(id)
    if (!record) return null
    const { fields, updatedAt } = record
    return { get: (field) => structuredClone(fields[field]), now: clock.now(), updatedAt }
  }

  function write(id: string, fields: Fields): void {
    const before = records.get(id)?.fields
    records.set(id, { fields: structuredClone({ ...before, ...fields }), updatedAt: clock.now() })
    for (const listener of watchers.get(id) ?? []) listener()
  }
}
