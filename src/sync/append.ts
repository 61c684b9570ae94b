/**
 * Appends the writes of this context to the log. All writes of one turn become one record, which leaves the context
 * in that turn: what happens to the page afterwards does not matter.
 */
import type { Clock } from '../base/clock.ts'
import { asLeaseError, LeaseError } from '../base/errors.ts'
import { pause } from '../base/pause.ts'
import { placeOf } from './fold.ts'
import { expectFormat, type Format, readMeta, show } from './format.ts'
import type { Layout } from './layout.ts'
import { createStamps, type LogRecord, type Operation } from './log.ts'
import { messageAbout, type SyncMessage } from './messages.ts'
import type { Schedule } from './schedule.ts'
import { settingsAfter } from './settings.ts'
import { logOf, type StorageAdapter, type StorageListener } from './storage.ts'
import type { View } from './view.ts'
import type { Warn } from './warnings.ts'
import type { Outcome } from './writer.ts'

/**
 * Up to this number of entities, a write is acknowledged when the index contains it. A larger index is changed when
 * no more writes come, and a write is acknowledged when it is in the log.
 */
const SMALL_INDEX = 1000
/** How long a context without locks waits for the coordinator to carry out its write. The log keeps it anyway. */
const COORDINATOR_MS = 3000

export interface AppendOptions<E extends object, S extends object> {
  readonly storage: StorageAdapter
  readonly layout: Layout
  readonly format: Format
  readonly defaults: S
  readonly view: View<E, S>
  readonly clock: Clock
  readonly warn: Warn
  readonly bootstrap: () => Promise<void>
  /** Whether the bootstrap has ended. */
  readonly isReady: () => boolean
  /** `undefined`: this context has no lock, and the coordinator carries out its records. */
  readonly carryOut: (() => Promise<Outcome>) | undefined
  readonly schedule: Schedule
  /** Reads again whether the record is carried out. */
  readonly readAgain: (key: string) => void
  readonly announce: (message: SyncMessage) => void
}

export interface Append {
  /** Shows the operation at once, and resolves when it is stored. */
  write(operation: Operation): Promise<void>
  readonly onChanged: StorageListener
}

/** The writes of one turn. */
interface Turn {
  readonly key: string
  readonly operations: Operation[]
  readonly stored: Promise<Outcome | undefined>
}

export function createAppend<E extends object, S extends object>(options: AppendOptions<E, S>): Append {
  const { storage, layout, format, defaults, view, clock, warn, carryOut, schedule } = options
  const log = logOf(storage)
  const stamps = createStamps(clock, layout.keys.logPrefix)
  /** By key of a record: called when the record is carried out. */
  const waiting = new Map<string, () => void>()
  let turn: Turn | undefined

  return {
    async write(operation) {
      turn ??= startTurn()
      const { key, operations, stored } = turn
      const place = placeOf(key, operations.push(operation) - 1)
      view.add(key, place, operation)
      const outcome = await stored
      const refusal = outcome?.records.has(key) ? outcome.refused.get(place) : refusalOf(operation)
      if (refusal) throw refusal
      const { delta = [], patch } = operation
      const shown = patch && view.get(patch[0])
      // Receivers compare the revision of a removal with that of the index, so it must be true for that revision.
      const told = delta.filter(([id, entity]) => entity || (outcome?.revision && outcome.gone.has(id)))
      const entries = shown ? [[patch[0], shown] as const] : told
      if (entries.length > 0) options.announce(messageAbout(entries, outcome?.revision))
    },
    onChanged(changes) {
      for (const [key, change] of Object.entries(changes ?? {})) {
        if (!key.startsWith(layout.keys.logPrefix)) continue
        stamps.seen(key)
        if (change.newValue) schedule.soon()
        else waiting.get(key)?.()
      }
    },
  }

  function startTurn(): Turn {
    const key = stamps.next()
    const operations: Operation[] = []
    const stored = Promise.resolve().then(() => {
      turn = undefined
      return store(key, operations)
    })
    return { key, operations, stored }
  }

  async function store(key: string, operations: readonly Operation[]): Promise<Outcome | undefined> {
    const soon = !carryOut && view.size <= SMALL_INDEX
    const record: LogRecord = { format: show(format), ops: operations, ...(soon && { soon }) }
    const carriedOut = soon ? nextDone(key) : undefined
    // The bootstrap checks the format, and may migrate. Whoever carries out the record checks it, too.
    const unchecked = options.isReady() && (!carryOut || view.size > SMALL_INDEX)
    try {
      // All of them start in this turn.
      const [, head] = await Promise.all([
        log.set({ [key]: record }),
        unchecked ? storage.get([layout.keys.meta]) : {},
        options.bootstrap(),
      ])
      expectFormat(readMeta(head, layout.keys), format)
      if (carryOut && (view.size <= SMALL_INDEX || storage.log)) return await carryOutNow(key, carryOut)
      if (carriedOut) await Promise.race([carriedOut, pause(clock, COORDINATOR_MS, { background: true })])
      else schedule.soon()
      return undefined
    } catch (error) {
      const failure = asLeaseError(error)
      view.drop(key)
      if (failure.code !== 'closed') await log.remove([key]).catch(() => {})
      throw failure
    } finally {
      waiting.delete(key)
    }
  }

  async function carryOutNow(key: string, carryOut: () => Promise<Outcome>): Promise<Outcome | undefined> {
    try {
      const outcome = await carryOut()
      const failure = outcome.failed?.get(key)
      if (failure) throw failure
      options.readAgain(key)
      return outcome
    } catch (error) {
      const { retryable, message } = asLeaseError(error)
      if (!retryable) throw error
      warn('write-postponed', message, error)
      schedule.soon()
      return undefined
    }
  }

  function nextDone(key: string): Promise<void> {
    return new Promise((resolve) => waiting.set(key, resolve))
  }

  /** As far as this context knows: somebody else carries the operation out. */
  function refusalOf({ patch, settings }: Operation): LeaseError | undefined {
    if (patch && !view.get(patch[0]))
      return new LeaseError('not-found', `entity ${patch[0]} does not exist`, { resource: patch[0] })
    try {
      if (settings) settingsAfter(view.settings, settings, defaults)
      return undefined
    } catch (error) {
      return asLeaseError(error)
    }
  }
}
