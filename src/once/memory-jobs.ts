import { expectFunction, expectOptions } from '../base/arguments.ts'
import { type Channel, createChannel } from '../base/channel.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { LeaseError } from '../base/errors.ts'
import { type DocumentFields, documentJobs, type JobDocument, type JobDocuments } from './document-jobs.ts'
import { refuseOutside } from './job-arguments.ts'
import type { JobStore } from './job-store.ts'
import { DOCUMENT_FIELDS, type JobStatuses, statusesOf } from './naming.ts'
import { parseTime } from './stored-values.ts'

/** What a transaction is to do when it is committed. */
interface OpenTransaction {
  readonly writes: { readonly id: string; readonly fields: DocumentFields; readonly seen: unknown }[]
  readonly effects: (() => void)[]
}

export interface MemoryJobsOptions {
  readonly statuses?: JobStatuses | undefined
  readonly clock?: Clock | undefined
}

export interface MemoryJobs extends JobStore {
  /**
   * Runs the work in a transaction, for tests of work that calls `complete(tx, result)`. Its outcomes are stored and
   * its effects run when the work ends, and not if it throws.
   *
   * @example
   * await jobs.transaction(async (tx) => {
   *   tx.onCommit(() => sent.push(id))
   *   await complete(tx, { sent: 1 })
   * })
   */
  transaction<T>(work: (tx: MemoryTransaction) => T | PromiseLike<T>): Promise<T>
}

export interface MemoryTransaction {
  /** Runs `effect` when the transaction is committed. */
  onCommit(effect: () => void): void
}

/**
 * Jobs of one process, for tests.
 *
 * @example
 * const once = createOnce(memoryJobs())
 */
export function memoryJobs(options: MemoryJobsOptions = {}): MemoryJobs {
  expectOptions(options, { statuses: 1, clock: 1 })
  const { statuses, clock = systemClock } = options
  const records = new Map<string, { readonly fields: DocumentFields; readonly updatedAt: number }>()
  const transactions = new WeakMap<object, OpenTransaction>()
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
    complete(tx, id, decide) {
      const open = transactions.get(tx)
      if (!open) refuseOutside(tx)
      const seen = records.get(id)
      const { answer, fields } = decide(documentOf(id))
      if (fields) open.writes.push({ id, fields, seen })
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
  return {
    ...documentJobs(documents, DOCUMENT_FIELDS, statusesOf(statuses)),
    async transaction(work) {
      expectFunction('work', work)
      const open: OpenTransaction = { writes: [], effects: [] }
      const tx: MemoryTransaction = {
        onCommit(effect) {
          expectFunction('effect', effect)
          open.effects.push(effect)
        },
      }
      transactions.set(tx, open)
      try {
        const result = await work(tx)
        commit(open)
        return result
      } finally {
        transactions.delete(tx)
      }
    },
  }

  function commit({ writes, effects }: OpenTransaction): void {
    for (const { id, seen } of writes)
      if (records.get(id) !== seen)
        throw new LeaseError('store-unavailable', `memory: job ${id} was changed during the transaction`)
    for (const { id, fields } of writes) write(id, fields)
    for (const effect of effects) effect()
  }

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
