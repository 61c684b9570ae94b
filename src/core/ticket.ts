import type { Stop } from '../base/abort.ts'
import { answerWithin } from '../base/answer-within.ts'
import { refuse } from '../base/arguments.ts'
import { moment } from '../base/clock.ts'
import { LeaseError } from '../base/errors.ts'
import type { Context } from './context.ts'
import { type Keeper, keepGrant } from './keeper.ts'
import type { CheckedOptions } from './options.ts'

/**
 * A lease on its way to another process, as plain JSON. Whoever has it can renew and release the lease. It contains no
 * time by which anything could be decided: only the store knows whether the lease is still live.
 */
export interface LeaseTicket {
  readonly type: 'holdfast-lease'
  /** The `kind` of the store. */
  readonly store: string
  readonly resource: string
  readonly id: string
  readonly token: number
  /** Milliseconds. */
  readonly ttl: number
}

/** Renews the lease for the next process, and stops its heartbeat here. */
export async function detach(keeper: Keeper): Promise<LeaseTicket> {
  const { record, context, options } = keeper
  const { resource, id, token } = record
  if (keeper.expiresAt() === null)
    throw new LeaseError('store-failed', `${resource} cannot be detached: it ends with this page`, {
      resource,
    })
  await keeper.renewWith({ endsWithProcess: false })
  context.emit(record, { type: 'released', heldFor: keeper.letGo() })
  return { type: 'holdfast-lease', store: context.store.kind, resource, id, token, ttl: options.ttl }
}

/** `kind`: of the store that is to continue the lease. */
export function checkTicket(ticket: unknown, kind: string): LeaseTicket {
  const { type, store, id, token } = Object(ticket) as Partial<LeaseTicket>
  if (type !== 'holdfast-lease' || store !== kind || typeof id !== 'string' || !Number.isSafeInteger(token))
    refuse('ticket', `what detach() returned for a lease of a ${kind} store`, ticket)
  return ticket as LeaseTicket
}

/** Continues the lease of a ticket. Its deadline counts from before the renewal that shows that it is still live. */
export async function adopt(
  context: Context,
  { resource, id, token }: LeaseTicket,
  options: CheckedOptions,
  stop: Stop,
): Promise<Keeper> {
  const { store, clock, callTimeout, endsWithProcess } = context
  const sent = moment(clock)
  const renewing = store.renew({ resource, id, ttl: options.ttl, endsWithProcess }, stop)
  const renewal = await answerWithin(renewing, callTimeout, context, resource, stop)
  if (!renewal.ok || renewal.lease.token !== token)
    throw new LeaseError('lease-lost', `the lease of ${resource} ended before it was adopted`, { resource })
  return keepGrant(context, options, renewal.lease, sent, sent.mono, 1)
}
