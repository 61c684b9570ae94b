/**
 * The log of writes. A context hands each write to the browser in the turn in which it is made, as one record with a
 * key of its own, so no other context can overwrite it, and it survives the end of its page.
 *
 *     appended ─▶ in storage, shown by all contexts ─▶ carried out under the lock ─▶ removed
 *
 * What is stored is the index with the entities, and the records on top of them in the order of their keys. Whoever
 * carries records out writes the result and marks the records as done in one write, so none is carried out twice.
 */
import { isObject } from '../base/arguments.ts'
import type { Clock } from '../base/clock.ts'
import { randomId } from '../base/random-id.ts'
import { type FieldChanges, isId } from './json.ts'

/** One write. */
export interface Operation {
  /** Entities by id; `null` removes. */
  readonly delta?: readonly (readonly [id: string, entity: object | null])[]
  /** The removal is ignored if the index has a newer revision. */
  readonly seenAt?: number
  readonly patch?: readonly [id: string, ...changes: FieldChanges]
  readonly settings?: FieldChanges
  readonly reset?: true
}

export interface LogRecord {
  /** A context of another format must not carry it out. */
  readonly format: string
  readonly ops: readonly Operation[]
  /** Somebody waits until it is carried out. */
  readonly soon?: boolean
}

/** In place of a record that was carried out. */
export const DONE = 0

/** `DONE` or a missing record: carried out. `null`: malformed. */
export function readRecord(value: unknown): LogRecord | typeof DONE | null {
  if (value === undefined || value === DONE) return DONE
  const { format, ops } = Object(value) as { format?: unknown; ops?: unknown }
  const valid = typeof format === 'string' && Array.isArray(ops) && ops.every(isOperation)
  return valid ? (value as LogRecord) : null
}

function isOperation(value: unknown): value is Operation {
  if (!isObject(value)) return false
  const { delta, patch, settings } = value
  return (
    (delta === undefined || (Array.isArray(delta) && delta.every(isDelta))) &&
    (patch === undefined || (Array.isArray(patch) && isId(patch[0]) && isChanges(patch.slice(1)))) &&
    (settings === undefined || isChanges(settings))
  )
}

const isDelta = (pair: unknown) =>
  Array.isArray(pair) && isId(pair[0]) && (pair[1] === null || isObject(pair[1]))

const isChanges = (value: unknown) => Array.isArray(value) && isObject(value[0]) && Array.isArray(value[1])

/** The place of an operation in the log. */
export function placeOf(key: string, at: number): string {
  return `${key}/${String(at).padStart(6, '0')}`
}

/** The ids of the entities that an operation sets, removes or changes. A reset names none. */
export function idsIn({ delta = [], patch }: Operation): readonly string[] {
  return patch ? [patch[0]] : delta.map(([id]) => id)
}

/** The keys of records, in the order of their writes: after the records that this context shows, in `known`. */
export function createStamps(clock: Clock, prefix: string): (known: readonly string[]) => string {
  const own = randomId()
  let last = ''
  const digits = (value: number, count: number) => String(value).padStart(count, '0')
  return (known) => {
    const stamps = known.map((key) => key.slice(prefix.length)).filter((key) => /^\d{15}\.\d{6}\./.test(key))
    const [time = '', count = ''] = [last, ...stamps].sort().at(-1)?.split('.') ?? []
    const now = digits(Math.floor(clock.now()), 15)
    last = now > time ? `${now}.${digits(0, 6)}` : `${time}.${digits(Number(count) + 1, 6)}`
    return `${prefix}${last}.${own}`
  }
}
