/**
 * Appends the writes of this context to the log. All writes of one turn become one record, which leaves the context
 * in that turn: what happens to the page afterwards does not matter.
 */
import { asLeaseError, LeaseError } from '../base/errors.ts'
import { pause } from '../base/pause.ts'
import { expectFormat, show } from './format.ts'
import { createStamps, DONE, isAnswer, type LogRecord, type Operation, readRecord, refusalIn } from './log.ts'
import { messageAbout } from './messages.ts'
import type { Parts } from './options.ts'
import type { Schedule } from './schedule.ts'
import { logOf, type StorageListener } from './storage.ts'
import { conform } from './validate.ts'
import type { View } from './view.ts'
import type { Outcome, StorageWriter } from './writer.ts'

/**
 * Up to this number of entities, a write is acknowledged when the index contains it. A larger index is changed when
 * no more writes come, and a write is acknowledged when it is in the log.
 */
const SMALL_INDEX = 1000
/** How long a context without locks waits for the coordinator to carry out its write. The log keeps it anyway. */
export const COORDINATOR_MS = 3000

/** How long such a context waits for the result of an update or a clean-up. */
const ANSWER_MS = 12_000

export interface AppendOptions<E extends object, S extends object> extends Omit<Parts<E, S>, 'writer'> {
  readonly view: View<E, S>
  readonly bootstrap: () => Promise<void>
  /** Whether the bootstrap has ended. */
  readonly isReady: () => boolean
  /** `undefined`: this context has no lock, and the coordinator carries out its records. */
  readonly writer: StorageWriter | undefined
  readonly schedule: Schedule
  /** Resolves when these keys are shown as they are stored. */
  readonly read: (keys: readonly string[]) => Promise<void>
}

export interface Append {
  /** Shows the operation at once, and resolves when it is stored. */
  write(operation: Operation): Promise<void>
  /** Carries out an operation, or has the coordinator do so, and resolves when that is done. */
  perform(operation: Operation, limitMs?: number): Promise<Outcome>
  readonly onChanged: StorageListener
}

/** The writes of one turn. */
interface Turn {
  readonly key: string
  readonly ops: Operation[]
  readonly stored: Promise<Outcome | undefined>
}

export function createAppend<E extends object, S extends object>(options: AppendOptions<E, S>): Append {
  const { storage, layout, format, view, schemas, clock, warn, writer, schedule } = options
  const log = logOf(storage)
  const nextKey = createStamps(clock, layout.keys.logPrefix)
  /** By key of a record: called when the record is carried out. */
  const waiting = new Map<string, (answer: unknown) => void>()
  let turn: Turn | undefined

  return {
    async write(operation) {
      turn ??= startTurn()
      const { key, stored } = turn
      const position = turn.ops.push(operation) - 1
      view.apply({ add: [[key, operation]] })
      const outcome = await stored
      const refusal = outcome ? refusalIn(outcome.answers.get(key), position) : view.refusal(operation)
      if (refusal) throw refusal
      const { delta = [], id } = operation
      const shown = id && view.get(id)
      // Receivers compare the revision of a removal with that of the index, so it must be true for that revision.
      const told = delta.filter(([id, entity]) => entity || (outcome?.revision && outcome.gone.has(id)))
      const entries = shown ? [[id, shown] as const] : told
      if (entries.length > 0) options.announce(messageAbout(entries, outcome?.revision))
    },
    async perform(operation, limitMs = ANSWER_MS) {
      if (writer) return writer.perform([operation])
      const key = nextKey(view.records)
      const answered = answerTo(key, limitMs)
      await log.set({ [key]: { format: show(format), ops: [operation], soon: true } satisfies LogRecord })
      const outcome = await answered
      const refusal = refusalIn(outcome?.answers.get(key), 0)
      if (refusal) throw refusal
      if (outcome) return outcome
      await log.remove([key])
      throw new LeaseError(
        'store-unavailable',
        'the coordinator did not answer; it may have carried out the write',
      )
    },
    onChanged(changes) {
      for (const [key, change] of Object.entries(changes ?? {})) {
        if (!layout.isRecord(key)) continue
        if (readRecord(change?.newValue) === DONE) waiting.get(key)?.(change?.newValue)
        else schedule.soon()
      }
    },
  }

  function startTurn(): Turn {
    const key = nextKey(view.records)
    view.unsent.add(key)
    const ops: Operation[] = []
    const stored = Promise.resolve().then(() => {
      turn = undefined
      return store(key, ops)
    })
    return { key, ops, stored }
  }

  /** Resolves with the outcome, as far as it is known. */
  async function store(key: string, ops: readonly Operation[]): Promise<Outcome | undefined> {
    const soon = !writer && view.size <= SMALL_INDEX
    const record: LogRecord = { format: show(format), ops, ...(soon && { soon }) }
    const answered = soon ? answerTo(key, COORDINATOR_MS) : undefined
    try {
      // All of them start in this turn, the record first.
      const [, outcome] = await Promise.all([
        log.set({ [key]: record }).finally(() => view.unsent.delete(key)),
        options.isReady() ? finish(key) : finishLater(key, ops),
      ])
      return outcome ?? (await answered)
    } catch (error) {
      const failure = asLeaseError(error)
      if (failure.code !== 'closed') await log.remove([key]).catch(() => {})
      try {
        if (failure.code !== 'store-failed' || !writer || !ops.every(frees)) throw failure
        // The storage may have no space for the record. Afterwards it has more.
        const outcome = await writer.perform(ops)
        if (options.isReady()) await options.read(layout.indexKeys)
        return outcome
      } finally {
        view.apply({ drop: [key] })
      }
    }
  }

  async function finishLater(key: string, ops: readonly Operation[]): Promise<Outcome | undefined> {
    await options.bootstrap()
    for (const { id, settings } of ops) {
      const entity = id && view.get(id)
      if (entity) conform(`entity ${id}`, entity, schemas.entity)
      if (settings) conform('settings', view.settings, schemas.settings)
    }
    return finish(key)
  }

  /** What the coordinator says about a record, or `undefined` if it says nothing in time. */
  async function answerTo(key: string, ms: number): Promise<Outcome | undefined> {
    const answer = await Promise.race([
      new Promise((resolve) => waiting.set(key, (answer = DONE) => resolve(answer))),
      pause(clock, ms, { background: true }),
    ])
    waiting.delete(key)
    if (answer === undefined) return undefined
    return { answers: new Map([[key, answer]]), gone: new Set(isAnswer(answer) ? answer.gone : []) }
  }

  /** What else a write needs, if anybody waits for it: the format is checked, and the index contains the write. */
  async function finish(key: string): Promise<Outcome | undefined> {
    if (writer && (view.size <= SMALL_INDEX || storage.log))
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
    // Whoever carries the record out checks the format, too.
    else expectFormat(await storage.get([layout.keys.meta]), layout.keys, format)
    schedule.soon()
    return undefined
  }
}

/** It only removes entities, so the storage needs less space afterwards. */
function frees({ reset, delta }: Operation): boolean | undefined {
  return reset || delta?.every(([, entity]) => !entity)
}
