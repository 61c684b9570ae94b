/**
 * Appends the writes of this context to the log. All writes of one tick become one record, which leaves the context
 * in that tick: what happens to the page afterwards does not matter. What follows is in `after-append.ts`.
 */

import { pause } from '../base/pause.ts'
import { show } from './format.ts'
import { createStamps, DONE, type LogRecord, type Operation, readRecord } from './log.ts'
import { COORDINATOR_MS } from './options.ts'
import type { Parts } from './parts.ts'
import { logOf, type StorageListener } from './storage.ts'
import type { View } from './view.ts'

export interface AppendOptions<E extends object, S extends object> extends Parts<E, S> {
  readonly view: View<E, S>
  /** Whether the bootstrap has ended. */
  readonly isReady: () => boolean
  /** What is loaded on demand. */
  readonly methods: () => Promise<{ readonly afterAppend: (record: Appended) => Promise<TellResult> }>
}

/** The record of one tick, on its way to the log. */
export interface Appended {
  readonly key: string
  readonly ops: readonly Operation[]
  readonly appended: Promise<void>
  /** What the coordinator says about it, if somebody waits for that. */
  readonly answered: Promise<unknown> | undefined
  /** Whether the bootstrap had ended when the record was made. */
  readonly wasReady: boolean
}

/** Tells other contexts about the operation at this position of the record, or throws why it was refused. */
export type TellResult = (operation: Operation, position: number) => void

export interface Append {
  /** Shows the operation at once, and resolves when it is stored. */
  write(operation: Operation): Promise<void>
  /** The key of a new record. */
  nextKey(): string
  /** What the coordinator says about a record, or `undefined` if it says nothing in time. Default 3 s. */
  answerTo(key: string, limitMs?: number): Promise<unknown>
  readonly onChanged: StorageListener
}

/** The writes of one tick of the event loop. */
interface Tick {
  readonly key: string
  readonly ops: Operation[]
  readonly result: Promise<TellResult>
}

export function createAppend<E extends object, S extends object>(options: AppendOptions<E, S>): Append {
  const { storage, layout, format, view, schemas, clock } = options
  const log = logOf(storage)
  const stamp = createStamps(clock, layout.keys.logPrefix)
  const nextKey = () => stamp(view.records)
  /** By key of a record: called when the record is carried out. */
  const waiting = new Map<string, (answer: unknown) => void>()
  let tick: Tick | undefined

  return {
    async write(operation) {
      tick ??= startTick()
      const { key, ops, result } = tick
      const position = ops.push(operation) - 1
      view.apply({ add: [[key, operation]] })
      const tell = await result
      tell(operation, position)
    },
    nextKey,
    answerTo,
    onChanged(changes) {
      for (const [key, change] of Object.entries(changes ?? {})) {
        if (!layout.isRecord(key)) continue
        if (readRecord(change?.newValue) === DONE) waiting.get(key)?.(change?.newValue)
        else options.soon()
      }
    },
  }

  function startTick(): Tick {
    const key = nextKey()
    view.unsent.add(key)
    const ops: Operation[] = []
    const result = Promise.resolve().then(() => {
      tick = undefined
      const soon = options.leavesRecords && view.isSmall
      const record: LogRecord = { format: show(format), ops, ...(soon && { soon }) }
      const answered = soon ? answerTo(key) : undefined
      const appended = log.set({ [key]: record }).finally(() => view.unsent.delete(key))
      // A failure is handled when the rest is loaded.
      appended.catch(() => {})
      const made = { key, ops, appended, answered, wasReady: options.isReady() }
      return options.methods().then(
        ({ afterAppend }) => afterAppend(made),
        (error) => leave(made, error),
      )
    })
    return { key, ops, result }
  }

  /** What a write needs cannot be loaded. The record waits in the log, and any context may carry it out. */
  async function leave({ key, appended, wasReady }: Appended, error: unknown): Promise<TellResult> {
    try {
      await appended
      // Schemas check a change only together with what is stored.
      if (!wasReady && (schemas.entity || schemas.settings)) throw error
    } catch (failure) {
      await log.remove([key]).catch(() => {})
      view.apply({ drop: [key] })
      throw failure
    }
    options.soon()
    return (operation) => {
      const refusal = view.refusal(operation)
      if (refusal) throw refusal
    }
  }

  function answerTo(key: string, limitMs = COORDINATOR_MS): Promise<unknown> {
    return Promise.race([
      new Promise((resolve) => waiting.set(key, (answer = DONE) => resolve(answer))),
      pause(clock, limitMs, { background: true }),
    ]).finally(() => waiting.delete(key))
  }
}
