/**
 * Carries out operations under the lock: reads what they concern, computes what they make of it, and writes that. A
 * new entity is stored before its id enters the index, and a removed id leaves the index before its entity is removed:
 * a writer that dies in between leaves at most an orphaned key, and the records, which are carried out again.
 */
import type { LeaseError } from '../base/errors.ts'
import { changeIndex, emptyIndex } from './index-changes.ts'
import type { Answer, DONE, LogRecord, Operation } from './log.ts'
import type { MigrateOptions, Writes } from './migrate.ts'
import type { Items } from './storage.ts'
import { expectIds, type LoggedOperations } from './stored-records.ts'
import type { Outcome } from './writer.ts'
import type { WriterTools } from './writer-tools.ts'

export interface CarryOutContext extends Pick<MigrateOptions, 'storage' | 'layout' | 'format' | 'defaults'> {
  readonly tools: WriterTools
  readonly writes: Writes
}

export interface Work {
  readonly records: LoggedOperations
  /** Operations that are in no record. */
  readonly unlogged: readonly Operation[]
  /** What the head keys contain. */
  readonly base: Items
}

interface Plan {
  /** By key. */
  readonly entities: Items
  /** The keys of entities that are not in the index yet. */
  readonly added: readonly string[]
  /** The ids of entities that leave the index, or have no place in it. */
  readonly removed: readonly string[]
  readonly orphans: readonly string[]
  /** The ids of `entities`. */
  readonly set: ReadonlySet<string>
  /** Settings, and the index with its meta, if they change. */
  readonly head: Items
  /** The revision of the index, if it changes. */
  readonly revision: number | undefined
  /** By key of a record. */
  readonly answers: Readonly<Record<string, Answer | typeof DONE>>
  /** The records of updates, as records that set the result. */
  readonly sets: Items
}

export async function carryOut(context: CarryOutContext, work: Work, outcome: Outcome): Promise<void> {
  const { records, unlogged } = work
  if (records.length + unlogged.length === 0) return
  const planned = await plan(context, work)
  await store(context, planned)
  const { removed, orphans, set, revision, answers } = planned
  if (revision !== undefined) outcome.revision = revision
  for (const id of [...removed, ...orphans]) outcome.gone.add(id)
  for (const id of set) outcome.gone.delete(id)
  for (const key in answers) outcome.answers.set(key, answers[key])
}

async function plan(context: CarryOutContext, { records, unlogged, base }: Work): Promise<Plan> {
  const { tools, storage, layout, format, defaults } = context
  const { keys } = layout
  const operations = [...records.flatMap(([, operations]) => operations), ...unlogged]
  const touched = operations.flatMap(({ id }) => id ?? [])
  const rebuilt = operations.some(({ rebuild }) => rebuild) ? await rebuiltIndex(context) : {}
  const found = await tools.readKeys(storage, layout.entityKeys(touched))
  const items = { ...base, ...found, ...rebuilt }
  const resets = operations.some(({ reset }) => reset)
  // A reset repairs a damaged index.
  const indexed = new Set(resets ? layout.ids(items) : expectIds(tools, layout, items))
  const before = tools.readMeta(items, keys)?.revision ?? 0
  const folded = tools.createFold({
    indexed,
    revision: before,
    find: layout.lookup(items),
    settings: items[keys.settings],
    defaults,
  })
  operations.forEach(folded.apply)
  const { removed, values, settings, refused } = folded

  // A shard that is missing later is damaged, so all of them are written.
  const missing = Object.entries(emptyIndex(layout)).filter(([key]) => resets || !(key in items))
  const orphans = orphansIn(context, operations, items).filter((id) => !indexed.has(id) && !values.has(id))
  const { entities, index } = changeIndex(layout, items, removed, [...values])
  const indexChanged = resets || Object.keys({ ...rebuilt, ...index }).length > 0
  const revision = indexChanged ? before + 1 : undefined
  const newIndex = {
    ...Object.fromEntries(missing),
    ...rebuilt,
    ...index,
    [keys.meta]: { ...format, revision },
  }
  return {
    entities,
    // Among several devices, an entity exists as long as its key does. So it needs no order of writes.
    added: layout.entityKeys(storage.shared ? [] : [...values.keys()].filter((id) => !indexed.has(id))),
    removed: [...removed],
    orphans,
    set: new Set(values.keys()),
    head: { ...(settings && { [keys.settings]: settings }), ...(indexChanged && newIndex) },
    revision,
    answers: Object.fromEntries(
      records.map(([key, operations]) => [key, answerTo(tools, operations, refused, orphans)]),
    ),
    sets: Object.fromEntries(
      records.flatMap(([key, [operation]]) =>
        operation?.swap && !refused.has(operation) ? [[key, asSet(context, operation)]] : [],
      ),
    ),
  }
}

/** In this order: whatever happens in between, nothing is lost, and nothing counts twice. */
async function store(context: CarryOutContext, planned: Plan): Promise<void> {
  const { tools, storage, layout, writes } = context
  const { entities, added, removed, orphans, set, head, answers, sets } = planned
  const log = tools.logOf(storage)
  // This writer may die before the answers are stored. Then the records are carried out again, and an update that
  // has become a set counts once.
  if (log !== storage) await writes.set(sets, log)
  // Nobody is told that an orphan is gone before it is.
  await writes.remove(layout.entityKeys(orphans))
  // The answers together with their result, so that no record is carried out twice.
  const all = { ...entities, ...head, ...(log === storage && answers) }
  const fresh = Object.fromEntries(added.map((key) => [key, entities[key]]))
  const rest = Object.fromEntries(Object.entries(all).filter(([key]) => !(key in fresh)))
  try {
    // First the new entities, then the index and everything else.
    await writes.set(fresh)
    await writes.set(rest)
  } catch (error) {
    if (added.length === 0) throw error
    // The storage is almost full: in one write, the entities take the place of their records.
    await writes.set(all).catch(async () => {
      await writes.remove(added).catch(() => {})
      throw error
    })
  }
  // Among several devices, an entity is removed before the removal is acknowledged.
  if (storage.shared) await writes.remove(layout.entityKeys(removed.filter((id) => !set.has(id))))
  if (log !== storage) await writes.set(answers, log)
}

/** A missing index says nothing, and another device's index may come later than its entities. */
function orphansIn(
  { storage, layout }: CarryOutContext,
  operations: readonly Operation[],
  items: Items,
): readonly string[] {
  if (storage.shared || layout.indexKeys.some((key) => !(key in items))) return []
  return operations.flatMap(({ orphans = [] }) => orphans)
}

async function rebuiltIndex({ tools, layout }: CarryOutContext): Promise<Items> {
  if (layout.inIndex)
    throw new tools.LeaseError('store-failed', `${layout.indexKeys[0]} contains the entities`)
  const found = (await layout.storedIds()).map((id) => [id, {}] as const)
  return { ...emptyIndex(layout), ...changeIndex(layout, {}, [], found).index }
}

/** The record of an update, as a record that sets the result. */
function asSet({ tools, format }: CarryOutContext, { id = '', swap }: Operation): LogRecord {
  return { format: tools.show(format), ops: [{ delta: [[id, swap?.[1] ?? null]] }], soon: true }
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
