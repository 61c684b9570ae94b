/** What becomes of a record after it was appended to the log, and what its writer and other contexts are told. */
import type { Announce } from './announce.ts'
import { outcomeIn, refusalIn } from './answers.ts'
import type { Appended, TellResult } from './append.ts'
import type { Operation } from './log.ts'
import type { Outcome } from './writer.ts'
import type { WriterTools } from './writer-tools.ts'
import type { WritingContext } from './writing.ts'

export function createAfterAppend<E extends object, S extends object>(
  tools: WriterTools,
  context: WritingContext<E, S>,
  announce: Announce,
): (record: Appended) => Promise<TellResult> {
  const { LeaseError, asLeaseError, conform, expectFormat, logOf } = tools
  const { storage, layout, format, view, schemas, warn, writer, soon } = context

  return async (record) => {
    const outcome = await stored(record)
    return (operation, position) => {
      const refusal = outcome
        ? refusalIn(tools, outcome.answers.get(record.key), position)
        : view.refusal(operation)
      if (refusal) throw refusal
      tell(operation, outcome)
    }
  }

  /** Resolves with the outcome, as far as it is known. */
  async function stored({ key, ops, appended, answered, wasReady }: Appended): Promise<Outcome | undefined> {
    try {
      const [outcome] = await Promise.all([wasReady ? finish(key) : finishLater(key, ops), appended])
      return outcome ?? outcomeIn(tools, key, await answered)
    } catch (error) {
      const failure = asLeaseError(error)
      if (failure.code !== 'closed')
        await logOf(storage)
          .remove([key])
          .catch(() => {})
      try {
        if (failure.code !== 'store-failed' || !writer || !ops.every(frees)) throw failure
        // The storage may have no space for the record. Afterwards it has more.
        const outcome = await writer.perform(ops)
        if (context.isReady()) await context.reader.read(layout.indexKeys)
        return outcome
      } finally {
        view.apply({ drop: [key] })
      }
    }
  }

  async function finishLater(key: string, ops: readonly Operation[]): Promise<Outcome | undefined> {
    await context.bootstrap()
    for (const { id, settings } of ops) {
      const entity = id && view.get(id)
      if (entity) conform(`entity ${id}`, entity, schemas.entity)
      if (settings) conform('settings', view.settings, schemas.settings)
    }
    return finish(key)
  }

  /** What else a write needs, if anybody waits for it: the format is checked, and the index contains the write. */
  async function finish(key: string): Promise<Outcome | undefined> {
    if (writer && (view.isSmall || storage.log))
      try {
        const outcome = await writer.carryOut(key)
        const answer = outcome.answers.get(key)
        if (answer instanceof LeaseError) throw answer
        if (answer !== undefined) return outcome
      } catch (error) {
        const { retryable, message } = asLeaseError(error)
        if (!retryable) throw error
        warn('write-postponed', message, error)
      }
    // The context that carries the record out checks the format, too.
    else expectFormat(await storage.get([layout.keys.meta]), layout.keys, format)
    soon()
    return undefined
  }

  function tell({ delta = [], id }: Operation, outcome: Outcome | undefined): void {
    const shown = id && view.get(id)
    // Receivers compare the revision of a removal with that of the index, so it must be true for that revision.
    const told = delta.filter(([id, entity]) => entity || (outcome?.revision && outcome.gone.has(id)))
    announce(shown ? [[id, shown]] : told, outcome?.revision)
  }
}

/** It only removes entities, so the storage needs less space afterwards. */
function frees({ reset, delta }: Operation): boolean | undefined {
  return reset || delta?.every(([, entity]) => !entity)
}
