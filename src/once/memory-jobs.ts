import { expectFunction, expectOptions } from '../base/arguments.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { createEmitter, type Emitter } from '../base/emitter.ts'
import { LeaseError } from '../base/errors.ts'
import type { DocumentDecision, DocumentFields, JobDocument } from './document-format.ts'
import { documentJobs, type JobDocuments } from './document-jobs.ts'
import { refuseOutside } from './job-arguments.ts'
import type { JobStore } from './job-store.ts'
import { DOCUMENT_FIELDS, statusesOf } from './naming.ts'
import type { MemoryJobsOptions } from './options.ts'
import { parseTime } from './stored-values.ts'

/** What a transaction is to do when it is committed. */
interface OpenTransaction {
  readonly writes: { readonly id: string; readonly fields: DocumentFields; readonly seen: unknown }[]
  readonly effects: (() => void)[]
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
  const documents = new MemoryDocuments(clock)
  return {
    ...documentJobs(documents, DOCUMENT_FIELDS, statusesOf(statuses)),
    transaction: (work) => documents.transaction(work),
  }
}

interface StoredDocument {
  readonly fields: DocumentFields
  readonly updatedAt: number
}

class MemoryDocuments implements JobDocuments {
  readonly kind = 'memory'
  readonly #clock: Clock
  readonly #stored = new Map<string, StoredDocument>()
  readonly #transactions = new WeakMap<object, OpenTransaction>()
  readonly #watchers = new Map<string, Emitter<void>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async create(id: string, fields: DocumentFields): Promise<void> {
    if (!this.#stored.has(id)) this.#write(id, fields)
  }

  async read(id: string): Promise<JobDocument | null> {
    return this.#documentOf(id)
  }

  async transact<T>(id: string, decide: (document: JobDocument | null) => DocumentDecision<T>): Promise<T> {
    const { answer, fields } = decide(this.#documentOf(id))
    if (fields) this.#write(id, fields)
    return answer
  }

  complete(
    tx: object,
    id: string,
    decide: (document: JobDocument | null) => DocumentDecision<boolean>,
  ): boolean {
    const open = this.#transactions.get(tx)
    if (!open) refuseOutside(tx)
    const seen = this.#stored.get(id)
    const { answer, fields } = decide(this.#documentOf(id))
    if (fields) open.writes.push({ id, fields, seen })
    return answer
  }

  async sweep(limit: number): Promise<number> {
    const now = this.#clock.now()
    const { keptUntil: keptUntilField, lockExpiresAt } = DOCUMENT_FIELDS
    const over = [...this.#stored].filter(([, { fields }]) => {
      const [keptUntil, lockEnd] = [fields[keptUntilField], fields[lockExpiresAt]].map(parseTime)
      return typeof keptUntil === 'number' && keptUntil <= now && !(Number(lockEnd) > now)
    })
    for (const [id] of over.slice(0, limit)) this.#stored.delete(id)
    return Math.min(over.length, limit)
  }

  watch(id: string, on: () => void): () => void {
    const emitter = this.#watchers.get(id) ?? createEmitter<void>()
    this.#watchers.set(id, emitter)
    const unsubscribe = emitter.subscribe(on)
    return () => {
      unsubscribe()
      if (!emitter.isHeard && this.#watchers.get(id) === emitter) this.#watchers.delete(id)
    }
  }

  async transaction<T>(work: (tx: MemoryTransaction) => T | PromiseLike<T>): Promise<T> {
    expectFunction('work', work)
    const open: OpenTransaction = { writes: [], effects: [] }
    const tx: MemoryTransaction = {
      onCommit(effect) {
        expectFunction('effect', effect)
        open.effects.push(effect)
      },
    }
    this.#transactions.set(tx, open)
    try {
      const result = await work(tx)
      this.#commit(open)
      return result
    } finally {
      this.#transactions.delete(tx)
    }
  }

  #commit({ writes, effects }: OpenTransaction): void {
    for (const { id, seen } of writes)
      if (this.#stored.get(id) !== seen)
        throw new LeaseError('store-unavailable', `memory: job ${id} was changed during the transaction`)
    for (const { id, fields } of writes) this.#write(id, fields)
    for (const effect of effects) effect()
  }

  #documentOf(id: string): JobDocument | null {
    const found = this.#stored.get(id)
    if (!found) return null
    const { fields, updatedAt } = found
    return { get: (field) => structuredClone(fields[field]), now: this.#clock.now(), updatedAt }
  }

  #write(id: string, fields: DocumentFields): void {
    const before = this.#stored.get(id)?.fields
    const merged = structuredClone({ ...before, ...fields })
    this.#stored.set(id, { fields: merged, updatedAt: this.#clock.now() })
    this.#watchers.get(id)?.emit()
  }
}
