/** What few programs ask of a sync, and a migration. */

import type { Announce } from './announce.ts'
import { outcomeIn, refusalIn } from './answers.ts'
import type { LogRecord, Operation } from './log.ts'
import { expectOlder } from './migrate.ts'
import { ANSWER_MS } from './rare-options.ts'
import type { Items } from './storage.ts'
import type { Outcome } from './writer.ts'
import type { WriterTools } from './writer-tools.ts'
import type { WritingContext } from './writing.ts'

export interface RareMethods<E extends object> {
  /** `head`: what the storage contains in another format. Resolves with what it contains in this one. */
  migrate(head: Items): Promise<Items>
  /** Resolves with what `change` threw, if it threw. */
  update(id: string, change: (entity: E | undefined) => E): Promise<{ readonly error: unknown } | undefined>
  cleanupOrphans(): Promise<readonly string[]>
  rebuildIndex(): Promise<void>
}

export function rareMethods<E extends object, S extends object>(
  tools: WriterTools,
  context: WritingContext<E, S>,
  announce: Announce,
): RareMethods<E> {
  const { LeaseError, expectFormat, logOf, show } = tools
  const { storage, layout, format, view, reader, append, writer, checked } = context
  return {
    async migrate(head) {
      expectOlder(tools, head, layout, format)
      if (writer) await writer.carryOut()
      // What it has made of the storage is read next.
      else await perform({}).catch(() => {})
      const migrated = await storage.get(layout.headKeys)
      expectFormat(migrated, layout.keys, format)
      return migrated
    },
    async update(id, change) {
      let thrown: { error: unknown } | undefined
      const next = (entity: object | undefined) => {
        let result: E
        try {
          result = change(entity as E | undefined)
        } catch (error) {
          thrown = { error }
          throw error
        }
        return checked(id, result)
      }
      try {
        while (!(await updateOnce(id, next))) {}
      } catch (error) {
        if (!thrown) throw error
      }
      const stored = view.get(id)
      if (stored && !thrown) announce([[id, stored]])
      return thrown
    },
    async cleanupOrphans() {
      const orphans = (await layout.storedIds()).filter((id) => !view.indexes(id))
      const { gone } = await perform({ orphans }, ANSWER_MS)
      return orphans.filter((id) => gone.has(id))
    },
    async rebuildIndex() {
      await perform({ rebuild: true }, ANSWER_MS)
      await reader.read(layout.indexKeys)
    },
  }

  /** Resolves with `false` if another context has changed the entity meanwhile. */
  async function updateOnce(id: string, next: (entity: object | undefined) => E): Promise<boolean> {
    const entity = view.get(id)
    const operation: Operation = writer ? { id, update: next } : { id, swap: [entity ?? null, next(entity)] }
    const isDone = await perform(operation, ANSWER_MS).then(
      () => true,
      (error) => {
        if (writer || error.code !== 'conflict') throw error
        return false
      },
    )
    await reader.read(view.indexes(id) ? reader.keysOf([id]) : layout.indexKeys)
    return isDone
  }

  /** Carries out an operation, or has the coordinator do so, and resolves when that is done. */
  async function perform(operation: Operation, limitMs?: number): Promise<Outcome> {
    if (writer) return writer.perform([operation])
    const log = logOf(storage)
    const key = append.nextKey()
    const answered = append.answerTo(key, limitMs)
    await log.set({ [key]: { format: show(format), ops: [operation], soon: true } satisfies LogRecord })
    const outcome = outcomeIn(tools, key, await answered)
    const refusal = refusalIn(tools, outcome?.answers.get(key), 0)
    if (refusal) throw refusal
    if (outcome) return outcome
    await log.remove([key])
    const message = 'the coordinator did not answer; it may have carried out the write'
    throw new LeaseError('store-unavailable', message)
  }
}
