/**
 * Carries out the records of the log, under the lock. A new entity is stored before its id enters the index, and a
 * removed id leaves the index before its entity is removed: a writer that dies in between leaves at most an orphaned
 * key, and the records, which are carried out again.
 */
import type { LeaseError } from '../base/errors.ts'
import { expectFit } from './fit.ts'
import { changeIndex, emptyIndex, readHead } from './index-changes.ts'
import type { HeldLease, SyncLocks } from './locks.ts'
import type { Answer, DONE, LogRecord, Operation } from './log.ts'
import { expectOlder, type MigrateOptions, migrate, type Writes } from './migrate.ts'
import type { Items } from './storage.ts'
import { expectIds, type LoggedOperations, readRecords } from './stored-records.ts'
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
  const { LeaseError, asLeaseError, createFold, show } = tools
  const { expectFormat, hasOtherFormat, readMeta, logOf, readKeys, createTurns } = tools
  const { storage, locks, layout, format, warn } = options
  const { keys } = layout
  /** For every change of the index. */
  const lockName = `holdfast:${keys.all}`
  const log = logOf(storage)
  const reported = new Set<string>()
  let last: Promise<unknown> = Promise.resolve()
  const turns = createTurns<Outcome>(
    (take) =>
      new Promise((resolve, reject) => {
        exclusively((writes) => carryOutAll(writes, [...take()], [], resolve)).catch(reject)
      }),
  )

  return {
    carryOut: (key) => turns(key ? [key] : []),
    perform: (operations) => exclusively((writes) => carryOutAll(writes, [], operations)),
  }

  /** Once the work has begun, its own result counts: records that a lost lock left behind are carried out later. */
  async function exclusively<T>(work: (writes: Writes) => Promise<T>): Promise<T> {
    let result: Promise<T> | undefined
    const begin = (lease?: HeldLease) => {
      result = work(writesUnder(lease))
      return result
    }
    await (locks ? locks.withLease(lockName, begin) : inTurn(begin)).catch((error: unknown) => {
      if (!result) throw error
    })
    return result as Promise<T>
  }

  /** This context is one writer, also if nothing keeps other contexts away. */
  function inTurn(work: () => Promise<unknown>): Promise<unknown> {
    last = last.then(work, work)
    return last
  }

  function writesUnder(lease?: HeldLease): Writes {
    return {
      async set(items, to = storage) {
        if (!canWrite(Object.keys(items))) return
        await expectFit(tools, to, items)
        await to.set(items)
      },
      async remove(keys, records = []) {
        if (log !== storage && canWrite(records)) await log.remove(records)
        const all = log === storage ? [...keys, ...records] : keys
        if (canWrite(all)) await storage.remove(all)
      },
    }

    function canWrite(keys: readonly string[]): boolean {
      if (lease?.held === false) throw new LeaseError('store-unavailable', `${lockName} was lost`)
      return keys.length > 0
    }
  }

  /**
   * All records together. If that fails, one by one, so that a record that does not fit stops no other. `stored` is
   * called when the result is stored, and only removals are left to do.
   */
  async function carryOutAll(
    writes: Writes,
    expected: readonly string[],
    unlogged: readonly Operation[],
    stored?: (outcome: Outcome) => void,
  ): Promise<Outcome> {
    const readAll = () => Promise.all([readHead(options), readLog(expected)])
    let [base, logged] = await readAll()
    if (hasOtherFormat(base, layout, format)) {
      expectOlder(tools, base, layout, format)
      const resets = unlogged.some(({ reset }) => reset)
      await migrate(tools, { ...options, ...writes }, base, logged, resets)
      ;[base, logged] = await readAll()
      expectFormat(base, keys, format)
    }
    const { records, ignored } = readRecords(tools, logged, layout, format)
    for (const key of ignored)
      report('malformed-record', key, `${key} is malformed or has another format; it is not carried out`)
    const outcome: Outcome = { answers: new Map(), gone: new Set() }
    try {
      await carryOut(writes, records, unlogged, base, outcome)
    } catch (error) {
      if (unlogged.length > 0 || asLeaseError(error).code !== 'store-failed') throw error
      await carryOutEach(writes, records, outcome)
      await refuse(writes, records, logged, expected, outcome)
    }
    const done = [...outcome.answers].flatMap(([key, answer]) => (answer instanceof LeaseError ? [] : key))
    const gone = layout.entityKeys(outcome.gone)
    const removing = writes.remove(gone, done)
    stored?.(outcome)
    // If this fails, somebody else removes the keys later.
    await removing.catch(() => {})
    return outcome
  }

  /** Each record on top of those that must wait, because all of them must fit. */
  async function carryOutEach(writes: Writes, records: LoggedOperations, outcome: Outcome): Promise<void> {
    let waiting: LoggedOperations = []
    for (const record of records) {
      const all = [...waiting, record]
      try {
        await carryOut(writes, all, [], await readHead(options), outcome)
        waiting = []
      } catch (error) {
        const failure = asLeaseError(error)
        outcome.answers.set(record[0], failure)
        if (failure.retryable) waiting = all
      }
    }
  }

  /** Tells the writers of records that do not fit. Without a writer that waits, the record stays in the log. */
  async function refuse(
    writes: Writes,
    records: LoggedOperations,
    logged: Items,
    expected: readonly string[],
    outcome: Outcome,
  ): Promise<void> {
    const refused: Record<string, Answer> = {}
    for (const [key, operations] of records) {
      const failure = outcome.answers.get(key)
      if (!(failure instanceof LeaseError) || failure.retryable || expected.includes(key)) continue
      report('write-refused', key, `a write cannot be stored: ${failure.message}`)
      const { code, message, resource } = failure
      if ((logged[key] as LogRecord).soon)
        refused[key] = { refused: operations.map(() => ({ code, message, resource })), gone: [] }
    }
    await writes.set(refused, log)
  }

  async function carryOut(
    { set, remove }: Writes,
    records: LoggedOperations,
    unlogged: readonly Operation[],
    base: Items,
    outcome: Outcome,
  ): Promise<void> {
    if (records.length + unlogged.length === 0) return
    const operations = [...records.flatMap(([, operations]) => operations), ...unlogged]
    const touched = operations.flatMap(({ id }) => id ?? [])
    const rebuilt = operations.some(({ rebuild }) => rebuild) ? await rebuiltIndex() : {}
    const items = { ...base, ...(await readKeys(storage, layout.entityKeys(touched))), ...rebuilt }
    const resets = operations.some(({ reset }) => reset)
    // A reset repairs a damaged index.
    const indexed = new Set(resets ? layout.ids(items) : expectIds(tools, layout, items))
    const before = readMeta(items, keys)?.revision ?? 0
    const folded = createFold({
      indexed,
      revision: before,
      find: layout.lookup(items),
      settings: items[keys.settings],
      defaults: options.defaults,
    })
    operations.forEach(folded.apply)
    const { removed, values, settings, refused } = folded
    // A shard that is missing later is damaged, so all of them are written.
    const unused = emptyIndex(layout)
    const missing = Object.keys(unused).filter((key) => !(key in items))
    // A missing index says nothing, and another device's index may come later than its entities.
    const hasOrphans = !storage.shared && missing.length === 0
    const orphans = operations
      .flatMap(({ orphans = [] }) => (hasOrphans ? orphans : []))
      .filter((id) => !indexed.has(id) && !values.has(id))

    const { entities, index } = changeIndex(layout, items, removed, [...values])
    const indexChanged = resets || Object.keys({ ...rebuilt, ...index }).length > 0
    const empty = Object.entries(unused).filter(([key]) => resets || missing.includes(key))
    const answers = Object.fromEntries(
      records.map(([key, operations]) => [key, answerTo(tools, operations, refused, orphans)]),
    )
    const result: Items = {
      ...(settings && { [keys.settings]: settings }),
      ...(indexChanged && {
        ...Object.fromEntries(empty),
        ...rebuilt,
        ...index,
        [keys.meta]: { ...format, revision: before + 1 },
      }),
      // Together with their result, so that no record is carried out twice.
      ...(log === storage && answers),
    }
    if (log !== storage) {
      // This writer may die before the answers are stored. Then the records are carried out again, and an update that
      // has become a set counts once.
      const sets = records.flatMap(([key, [operation]]) =>
        operation?.swap && !refused.has(operation) ? [[key, asSet(operation)]] : [],
      )
      await set(Object.fromEntries(sets), log)
    }
    // Among several devices, an entity exists as long as its key does. So it needs no order of writes, and is removed
    // before the removal is acknowledged.
    const added = layout.entityKeys(storage.shared ? [] : [...values.keys()].filter((id) => !indexed.has(id)))
    // Nobody is told that an orphan is gone before it is.
    await remove(layout.entityKeys(orphans))
    const all = { ...entities, ...result }
    const fresh = Object.fromEntries(added.map((key) => [key, entities[key]]))
    const rest = Object.fromEntries(Object.entries(all).filter(([key]) => !(key in fresh)))
    try {
      // First the new entities, then the index and everything else.
      await set(fresh)
      await set(rest)
    } catch (error) {
      if (added.length === 0) throw error
      // The storage is almost full: in one write, the entities take the place of their records.
      await set(all).catch(async () => {
        await remove(added).catch(() => {})
        throw error
      })
    }
    if (storage.shared) await remove(layout.entityKeys([...removed].filter((id) => !values.has(id))))
    if (log !== storage) await set(answers, log)
    if (indexChanged) outcome.revision = before + 1
    for (const id of [...removed, ...orphans]) outcome.gone.add(id)
    for (const id of values.keys()) outcome.gone.delete(id)
    for (const key in answers) outcome.answers.set(key, answers[key])
  }

  async function rebuiltIndex(): Promise<Items> {
    if (layout.inIndex) throw new LeaseError('store-failed', `${layout.indexKeys[0]} contains the entities`)
    const found = (await layout.storedIds()).map((id) => [id, {}] as const)
    return { ...emptyIndex(layout), ...changeIndex(layout, {}, [], found).index }
  }

  /** The record of an update, as a record that sets the result. */
  function asSet({ id = '', swap }: Operation): LogRecord {
    return { format: show(format), ops: [{ delta: [[id, swap?.[1] ?? null]] }], soon: true }
  }

  /** `expected`: records that are probably there. They are read while the others are listed. */
  async function readLog(expected: readonly string[]): Promise<Items> {
    const [listed, found] = await Promise.all([log.keys(), readKeys(log, expected)])
    const others = listed.filter((key) => layout.isRecord(key) && !(key in found))
    return { ...found, ...(await readKeys(log, others)) }
  }

  /** Once for each record. */
  function report(code: SyncWarningCode, key: string, message: string): void {
    if (reported.has(key)) return
    reported.add(key)
    warn(code, message)
  }
}

function answerTo(
  tools: WriterTools,
  operations: readonly Operation[],
  refused: ReadonlyMap<Operation, LeaseError>,
  gone: readonly string[],
): Answer | typeof DONE {
  if (gone.length === 0 && !operations.some((operation) => refused.has(operation))) return tools.DONE
  const refusals = operations.map((operation) => {
    const { code, message, resource } = refused.get(operation) ?? {}
    return code && message ? { code, message, resource } : null
  })
  return { refused: refusals, gone }
}
