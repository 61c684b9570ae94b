/**
 * One resource as a register keeps it. A write contains the state that its writer has seen, and what it is meant to do.
 * The server's time of that write decides what it did, by the transitions of `lease-row.ts`:
 *
 *     acquire   a lease begins at the time of the write, if the request fits then; otherwise nothing changes
 *     renew     extends the lease, if it was written before the expiry; otherwise the lease stays expired
 *     release   also a forced one: `released` if it was written before the expiry, otherwise `expired`
 *     expire    ends those of the named leases that have expired by then
 *
 * So a request that is delayed, by a pause or a broken network, does no harm, and everybody who reads the register
 * comes to the same state.
 */
import type { LeaseRecord } from '../../base/records.ts'
import type { Answer, Released, Renewal } from '../../core/index.ts'
import { ask, Effects, expire, type LeaseRow, release, renew, type StoredLease } from '../lease-row.ts'
import { KEEP_FREE_MS } from '../options.ts'
import { CLOCK_ROUNDING_MS } from './options.ts'
import type { IndexFields, Register } from './registers.ts'
import { decode, type Intents, type IntentType } from './rows.ts'

export interface Row<R extends Register = Register> {
  readonly register: R
  readonly resource: string
  readonly writtenAt: number
  /** After the write. */
  readonly state: LeaseRow
  /** What watchers are told of the write, in order. */
  readonly changes: readonly LeaseRecord[]
}

/** What a write of each type did. */
export interface Outcomes {
  readonly acquire: Answer
  readonly renew: Renewal
  readonly release: Released
  readonly expire: readonly LeaseRecord[]
}

type Transition<Type extends IntentType> = (
  state: LeaseRow,
  intent: Intents[Type],
  now: number,
  effects: Effects,
  micros: number,
) => Outcomes[Type]

const transitions: { readonly [Type in IntentType]: Transition<Type> } = {
  acquire: (state, intent, now, effects, micros) => {
    const token = Math.max(state.token + 1, micros)
    return ask(state, { ...intent, resource: state.resource, token }, null, now, effects)
  },
  renew,
  release,
  expire: (state, { tokens }, now, effects) => expire(state, now, effects, Infinity, tokens),
}

/** What the write would do at this time. The state stays as it is. */
export function tryOut<Type extends IntentType>(
  state: LeaseRow,
  type: Type,
  intent: Intents[Type],
  now: number,
): { readonly outcome: Outcomes[Type]; readonly after: LeaseRow } {
  const after = copyOf(state)
  return { outcome: transitions[type](after, intent, now, new Effects(), now * 1000), after }
}

/** What the write did. */
export function outcomeOf<Type extends IntentType>(
  before: LeaseRow,
  type: Type,
  intent: Intents[Type],
  { writtenMicros }: Register,
): Outcomes[Type] {
  return transitions[type](copyOf(before), intent, msOf(writtenMicros), new Effects(), writtenMicros)
}

/** Throws if the register is not a lease: a resource must not be granted while its record cannot be read. */
export function rowOf<R extends Register>(register: R): Row<R> {
  const { name: resource, writtenMicros } = register
  const writtenAt = msOf(writtenMicros)
  const { before: state, type, intent } = decode(register)
  const effects = new Effects()
  const transition = transitions[type] as Transition<IntentType>
  transition(state, intent, writtenAt, effects, writtenMicros)
  return { register, resource, writtenAt, state, changes: effects.changes }
}

/** For code that looks at many registers: `null` instead of an error. */
export function readableRow<R extends Register>(register: R): Row<R> | null {
  try {
    return rowOf(register)
  } catch {
    return null
  }
}

/** All leases that nobody has ended, also those that have expired. */
export function unendedIn({ leases }: LeaseRow): readonly StoredLease[] {
  return leases.filter(({ keptUntil }) => keptUntil === undefined)
}

export function idsIn(state: LeaseRow): string[] {
  return unendedIn(state).map(({ id }) => id)
}

export function indexOf(state: LeaseRow): IndexFields {
  const expiries = unendedIn(state).map(({ expiresAt }) => expiresAt)
  const dueAt = expiries.length > 0 ? Math.min(...expiries) : state.endedAt + KEEP_FREE_MS
  // Also one that has ended and keeps the resource is shown.
  return { isListed: state.leases.length > 0, dueAt }
}

/** The clock has stepped back to a time before the write. */
export function isAhead({ writtenAt }: Row, now: number): boolean {
  return writtenAt > now + CLOCK_ROUNDING_MS
}

function msOf(micros: number): number {
  return Math.ceil(micros / 1000)
}

function copyOf(state: LeaseRow): LeaseRow {
  return { ...state, leases: state.leases.map((lease) => ({ ...lease })) }
}
