/**
 * The log of writes. A context hands each write to the browser in the tick in which it is made, as one record with a
 * key of its own, so no other context can overwrite it, and it survives the end of its page.
 *
 *     appended ─▶ in storage, shown by all contexts ─▶ carried out under the lock ─▶ removed
 *
 * What is stored is the index with the entities, and the records on top of them in the order of their keys. The context that
 * carries records out writes the result and replaces the records by their answers in one write, so none is carried out
 * twice, and its writer learns what became of it.
 */
import { isObject } from '../base/arguments.ts'
import type { Clock } from '../base/clock.ts'
import type { LeaseError } from '../base/errors.ts'
import { randomId } from '../base/random-id.ts'
import { type FieldChanges, isId } from './json.ts'

/** One write. */
export interface Operation {
  /** Entities by id; `null` removes. */
  readonly delta?: readonly (readonly [id: string, entity: object | null])[]
  /** The removal is ignored if the index has a newer revision. */
  readonly seenAt?: number
  /** The entity that is changed by `patch`, `swap` or `update`. */
  readonly id?: string
  readonly patch?: FieldChanges
  /** Stores the second entity if the first one is stored. `null`: no entity. */
  readonly swap?: readonly [from: object | null, to: object]
  /** Stores what this function returns. Never in a record. */
  readonly update?: (entity: object | undefined) => object
  readonly settings?: FieldChanges
  readonly reset?: true
  /** Replaces the index with one of all entities that have a key. */
  readonly rebuild?: true
  /** Removes the keys of these entities, if they are not in the index. */
  readonly orphans?: readonly string[]
}

export interface LogRecord {
  /** A context of another format must not carry it out. */
  readonly format: string
  readonly ops: readonly Operation[]
  /** Somebody waits until it is carried out. */
  readonly soon?: boolean
}

/** In place of a record that was carried out, if there is nothing to say about it. */
export const DONE = 0

/** In place of a record that was carried out. */
export interface Answer {
  /** By position of the operation: why it could not be carried out; `null`: it was. */
  readonly refused: readonly (Pick<LeaseError, 'code' | 'message' | 'resource'> | null)[]
  /** The orphans that were removed. */
  readonly gone: readonly string[]
}

export function isAnswer(value: unknown): value is Answer {
  const { refused, gone } = Object(value) as Partial<Answer>
  return isList(refused) && isList(gone, isId)
}

/** `DONE`, an answer or a missing record: carried out. `null`: malformed. */
export function readRecord(value: unknown): LogRecord | typeof DONE | null {
  if (value === undefined || value === DONE || isAnswer(value)) return DONE
  const { format, ops } = Object(value) as { format?: unknown; ops?: unknown }
  const valid = typeof format === 'string' && Array.isArray(ops) && ops.every(isOperation)
  return valid ? (value as LogRecord) : null
}

function isOperation(value: unknown): value is Operation {
  if (!isObject(value)) return false
  const { delta = [], seenAt = 0, id, patch, swap, settings, orphans = [] } = value
  return (
    typeof seenAt === 'number' &&
    isList(delta, (pair) => isList(pair) && isId(pair[0]) && isEntity(pair[1])) &&
    (id === undefined ||
      (isId(id) && (isChanges(patch) || (isList(swap) && isEntity(swap[0]) && isObject(swap[1]))))) &&
    (settings === undefined || isChanges(settings)) &&
    isList(orphans, isId)
  )
}

const isList = (value: unknown, isItem: (item: unknown) => boolean = () => true): value is unknown[] =>
  Array.isArray(value) && value.every(isItem)

const isEntity = (value: unknown) => value === null || isObject(value)

const isChanges = (value: unknown) => isList(value) && isObject(value[0]) && isList(value[1])

/** The ids of the entities that an operation sets, removes or changes. A reset names none. */
export function idsIn({ delta = [], id }: Operation): readonly string[] {
  return id ? [id] : delta.map(([id]) => id)
}

/** A record of a context whose clock is this far ahead does not count. */
const LAST_STAMP = 2 ** 52

/** The keys of records, in the order of their writes: after the records that this context shows, in `known`. */
export function createStamps(clock: Clock, prefix: string): (known: readonly string[]) => string {
  const own = randomId()
  /** Microseconds since 1970, so that records of the same millisecond have an order. */
  let last = 0
  return (known) => {
    for (const key of known) {
      const stamp = Number(key.slice(prefix.length).split('.')[0])
      if (stamp < LAST_STAMP) last = Math.max(last, stamp)
    }
    last = Math.max(last + 1, Math.floor(clock.now()) * 1000)
    return `${prefix}${String(last).padStart(18, '0')}.${own}`
  }
}
