/** Carries out the records of the log, under the lock. */
import { type CarryOutContext, carryOut } from './carry-out.ts'
import { ExclusiveWrites } from './exclusive-writes.ts'
import { readHead } from './index-changes.ts'
import type { SyncLocks } from './locks.ts'
import type { Answer, LogRecord, Operation } from './log.ts'
import { expectOlder, type MigrateOptions, migrate, type Writes } from './migrate.ts'
import type { Items, StorageAdapter } from './storage.ts'
import { type LoggedOperations, readRecords } from './stored-records.ts'
import type { SyncWarningCode, Warn } from './warnings.ts'
import type { WriterTools } from './writer-tools.ts'

/** What became of the records that were carried out. */
export interface Outcome {
  /** By key of a record: the answer to it, or why the storage refused it. */
  readonly answers: Map<string, unknown>
  /** The ids that are not in the index any more, and orphans that were removed. */
  readonly gone: Set<string>
  /** The new revision of the index, if it changed. */
  revision?: number
}

export interface StorageWriter {
  /**
   * Carries out all records that are in storage when the lock is free, and migrates the stored data first if it has an
   * older format. `key`: a record that the caller has appended before. Resolves when the result is stored.
   */
  carryOut(key?: string): Promise<Outcome>
  /** Carries out these operations as well, which are in no record. */
  perform(operations: readonly Operation[]): Promise<Outcome>
}

export interface StorageWriterOptions extends MigrateOptions {
  /** Without locks, two contexts at the same time may undo each other's change of the index. */
  readonly locks: SyncLocks | undefined
  readonly warn: Warn
}

export function storageWriter(tools: WriterTools, options: StorageWriterOptions): StorageWriter {
  const writer = new Writer(tools, options)
  const runFor = tools.createRequestBatch<Outcome>(
    (take) => new Promise((resolve, reject) => writer.carryOut([...take()], resolve).catch(reject)),
  )
  return {
    carryOut: (key) => runFor(key ? [key] : []),
    perform: (operations) => writer.perform(operations),
  }
}

/** What is to do under the lock. */
interface Task {
  readonly writes: Writes
  /** Records that are probably in the log, and whose writers wait in this context. */
  readonly expected: readonly string[]
  /** Operations that are in no record. */
  readonly unlogged: readonly Operation[]
}

class Writer {
  readonly #tools: WriterTools
  readonly #options: StorageWriterOptions
  readonly #log: StorageAdapter
  readonly #exclusive: ExclusiveWrites
  /** The keys of records that a warning was about. */
  readonly #reported = new Set<string>()

  constructor(tools: WriterTools, options: StorageWriterOptions) {
    this.#tools = tools
    this.#options = options
    this.#log = tools.logOf(options.storage)
    // One lock for every change of the index.
    const lockName = `holdfast:${options.layout.keys.all}`
    this.#exclusive = new ExclusiveWrites(tools, { ...options, lockName })
  }

  /** `stored` is called when the result is stored, and only removals are left to do. */
  carryOut(expected: readonly string[], stored: (outcome: Outcome) => void): Promise<Outcome> {
    return this.#exclusive.run((writes) => this.#carryOutAll({ writes, expected, unlogged: [] }, stored))
  }

  perform(unlogged: readonly Operation[]): Promise<Outcome> {
    return this.#exclusive.run((writes) => this.#carryOutAll({ writes, expected: [], unlogged }))
  }

  /** All records together. If that fails, one by one, so that a record that does not fit stops no other. */
  async #carryOutAll(task: Task, stored?: (outcome: Outcome) => void): Promise<Outcome> {
    const { LeaseError, asLeaseError } = this.#tools
    const { layout, format } = this.#options
    const { writes, unlogged } = task
    const [base, logged] = await this.#read(task)
    const { records, ignored } = readRecords(this.#tools, logged, layout, format)
    for (const key of ignored)
      this.#report(
        'malformed-record',
        key,
        `${key} is malformed or has another format; it is not carried out`,
      )
    const outcome: Outcome = { answers: new Map(), gone: new Set() }
    try {
      await carryOut(this.#context(writes), { records, unlogged, base }, outcome)
    } catch (error) {
      if (unlogged.length > 0 || asLeaseError(error).code !== 'store-failed') throw error
      await this.#carryOutEach(writes, records, outcome)
      await this.#refuse(task, logged, outcome)
    }
    const done = [...outcome.answers].flatMap(([key, answer]) => (answer instanceof LeaseError ? [] : key))
    const removing = writes.remove(layout.entityKeys(outcome.gone), done)
    stored?.(outcome)
    // If this fails, somebody else removes the keys later.
    await removing.catch(() => {})
    return outcome
  }

  /** What the head keys and the log contain, in this format: older data is migrated first. */
  async #read({ writes, expected, unlogged }: Task): Promise<readonly [base: Items, logged: Items]> {
    const { expectFormat, hasOtherFormat } = this.#tools
    const { layout, format } = this.#options
    const readAll = () => Promise.all([readHead(this.#options), this.#readLog(expected)])
    const [head, logged] = await readAll()
    if (!hasOtherFormat(head, layout, format)) return [head, logged]
    expectOlder(this.#tools, head, layout, format)
    const resets = unlogged.some(({ reset }) => reset)
    await migrate(this.#tools, { ...this.#options, ...writes }, { head, logged, resets })
    const [migrated, rest] = await readAll()
    expectFormat(migrated, layout.keys, format)
    return [migrated, rest]
  }

  /** Each record on top of those that must wait, because all of them must fit. */
  async #carryOutEach(writes: Writes, records: LoggedOperations, outcome: Outcome): Promise<void> {
    let waiting: LoggedOperations = []
    for (const record of records) {
      const all = [...waiting, record]
      try {
        const base = await readHead(this.#options)
        await carryOut(this.#context(writes), { records: all, unlogged: [], base }, outcome)
        waiting = []
      } catch (error) {
        const failure = this.#tools.asLeaseError(error)
        outcome.answers.set(record[0], failure)
        if (failure.retryable) waiting = all
      }
    }
  }

  /** Tells the writers of records that do not fit. Without a writer that waits, the record stays in the log. */
  async #refuse({ writes, expected }: Task, logged: Items, { answers }: Outcome): Promise<void> {
    const refused: Record<string, Answer> = {}
    for (const [key, failure] of answers) {
      if (!(failure instanceof this.#tools.LeaseError) || failure.retryable || expected.includes(key))
        continue
      this.#report('write-refused', key, `a write cannot be stored: ${failure.message}`)
      const { code, message, resource } = failure
      const { ops, soon } = Object(logged[key]) as LogRecord
      if (soon) refused[key] = { refused: ops.map(() => ({ code, message, resource })), gone: [] }
    }
    await writes.set(refused, this.#log)
  }

  /** The `expected` records are read while the others are listed. */
  async #readLog(expected: readonly string[]): Promise<Items> {
    const { readKeys } = this.#tools
    const [listed, found] = await Promise.all([this.#log.keys(), readKeys(this.#log, expected)])
    const others = listed.filter((key) => this.#options.layout.isRecord(key) && !(key in found))
    return { ...found, ...(await readKeys(this.#log, others)) }
  }

  #context(writes: Writes): CarryOutContext {
    return { ...this.#options, tools: this.#tools, writes }
  }

  /** Once for each record. */
  #report(code: SyncWarningCode, key: string, message: string): void {
    if (this.#reported.has(key)) return
    this.#reported.add(key)
    this.#options.warn(code, message)
  }
}
