/**
 * Appends the writes of this context to the log. All writes of one turn become one record, which leaves the context
 * in that turn: what happens to the page afterwards does not matter.
 */
import type { Clock } from '../base/clock.ts'
import { asLeaseError, LeaseError } from '../base/errors.ts'
import { pause } from '../base/pause.ts'
import { expectFormat, type Format, readMeta, show } from './format.ts'
import type { Layout } from './layout.ts'
import { createStamps, type LogRecord, type Operation, placeOf } from './log.ts'
import { messageAbout, type SyncMessage } from './messages.ts'
import type { Schedule } from './schedule.ts'
import { settingsAfter } from './settings.ts'
import { logOf, type StorageAdapter, type StorageListener } from './storage.ts'
import type { View } from './view.ts'
import type { Warn } from './warnings.ts'
import type { Outcome, StorageWriter } from './writer.ts'

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
  readonly carryOut: StorageWriter['carryOut'] | undefined
  readonly schedule: Schedule
  /** Resolves when these keys are shown as they are stored. */
  readonly read: (keys: readonly string[]) => Promise<void>
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
  readonly stored: Promise<Outcome | undefined>
}

export function createAppend<E extends object, S extends object>(options: AppendOptions<E, S>): Append {
  const { storage, layout, format, defaults, view, clock, warn, carryOut, schedule } = options
  const log = logOf(storage)
  const nextKey = createStamps(clock, layout.keys.logPrefix)
  /** By key of a record: called when the record is carried out. */
  const waiting = new Map<string, () => void>()
  let turn: Turn | undefined

  return {
    async write(operation) {
      turn ??= startTurn()
      const { key, stored } = turn
      view.apply({ add: [[key, operation]] })
      const place = placeOf(key, (view.operationsOf(key)?.length ?? 1) - 1)
      const outcome = await stored
      const refusal = outcome ? outcome.results.get(place) : refusalOf(operation)
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
        if (change.newValue) schedule.soon()
        else waiting.get(key)?.()
      }
    },
  }

  function startTurn(): Turn {
    const key = nextKey(view.records)
    const stored = Promise.resolve().then(() => {
      turn = undefined
      return store(key, view.operationsOf(key) ?? [])
    })
    return { key, stored }
  }

  /** Resolves with the outcome if this context has carried the record out. */
  async function store(key: string, ops: readonly Operation[]): Promise<Outcome | undefined> {
    const soon = !carryOut && view.size <= SMALL_INDEX
    const record: LogRecord = { format: show(format), ops, ...(soon && { soon }) }
    const carriedOut = soon && new Promise<void>((resolve) => waiting.set(key, resolve))
    try {
      // All of them start in this turn, the record first.
      const [, outcome] = await Promise.all([
        log.set({ [key]: record }),
        options.isReady() ? finish(key) : options.bootstrap().then(() => finish(key)),
      ])
      if (carriedOut) await Promise.race([carriedOut, pause(clock, COORDINATOR_MS, { background: true })])
      return outcome
    } catch (error) {
      const failure = asLeaseError(error)
      if (failure.code !== 'closed') await log.remove([key]).catch(() => {})
      try {
        if (failure.code !== 'store-failed' || !carryOut || !ops.every(frees)) throw failure
        // The storage may have no space for the record. Afterwards it has more.
        const outcome = await carryOut(key, ops)
        await options.read(layout.indexKeys)
        return outcome
      } finally {
        view.apply({ drop: [key] })
      }
    } finally {
      waiting.delete(key)
    }
  }

  /** What else a write needs, if anybody waits for it: the format is checked, and the index contains the write. */
  async function finish(key: string): Promise<Outcome | undefined> {
    if (carryOut && (view.size <= SMALL_INDEX || storage.log)) return carryOutNow(key, carryOut)
    // Whoever carries the record out checks the format, too.
    expectFormat(readMeta(await storage.get([layout.keys.meta]), layout.keys), format)
    schedule.soon()
    return undefined
  }

  async function carryOutNow(key: string, carryOut: StorageWriter['carryOut']): Promise<Outcome | undefined> {
    try {
      const outcome = await carryOut(key)
      const result = outcome.results.get(key)
      if (result) throw result
      if (result === null) return outcome
    } catch (error) {
      const { retryable, message } = asLeaseError(error)
      if (!retryable) throw error
      warn('write-postponed', message, error)
    }
    schedule.soon()
    return undefined
  }

  /** As far as this context knows: somebody else carries the operation out. */
  function refusalOf({ patch, settings }: Operation): LeaseError | undefined {
    if (patch && !view.get(patch[0]))
      return new LeaseError('not-found', `entity ${patch[0]} does not exist`, { resource: patch[0] })
    const after = settings && settingsAfter(view.settings, settings, defaults)
    return after instanceof LeaseError ? after : undefined
  }
}

/** It only removes entities, so the storage needs less space afterwards. */
function frees({ reset, delta }: Operation): boolean {
  return reset === true || delta?.every(([, entity]) => entity === null) === true
}
