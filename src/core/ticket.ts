import type { LeaseError } from '../base/errors.ts'
import type { Keeper } from './keeper.ts'
import type { Lease } from './lease.ts'
import type { AdoptOptions } from './options.ts'
import type { Tools } from './rare-methods.ts'

/**
 * A lease on its way to another process, as plain JSON. Everybody who has it can renew and release the lease. It contains no
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
export async function detach(keeper: Keeper, Failure: typeof LeaseError): Promise<LeaseTicket> {
  const { record, context, options } = keeper
  const { resource, id, token } = record
  if (keeper.expiresAt() === null)
    throw new Failure('store-failed', `${resource} cannot be detached: it ends with this page`, { resource })
  await keeper.renewWith({ endsWithProcess: false })
  if (!keeper.isHeld())
    throw new Failure('lease-lost', `${resource} was released or detached meanwhile`, { resource })
  context.emit(record, { type: 'released', heldFor: keeper.letGo() })
  return { type: 'holdfast-lease', store: context.store.kind, resource, id, token, ttl: options.ttl }
}

/** Continues the lease of a ticket. Its deadline counts from before the renewal that shows that it is still live. */
export async function adopt(tools: Tools, ticket: LeaseTicket, own: AdoptOptions = {}): Promise<Lease> {
  const { manager, answerWithin, moment, LeaseError } = tools
  tools.checkEach<AdoptOptions>(own, { ttl() {}, heartbeat() {}, retry() {}, signal() {} })
  // The heartbeat is checked with the TTL of the ticket.
  const { signal } = manager.check('-', { ...own, heartbeat: undefined })
  return manager.run(
    async (context, stop) => {
      const { store, clock, callTimeout, endsWithProcess } = context
      const { resource, id, token, ttl } = checkTicket(ticket, store.kind, tools.refuse)
      const options = manager.check(resource, { ...own, ttl: own.ttl ?? ttl })
      const sent = moment(clock)
      const renewing = store.renew({ resource, id, ttl: options.ttl, endsWithProcess }, stop)
      const renewal = await answerWithin(renewing, callTimeout, context, resource, stop)
      if (!renewal.ok || renewal.lease.token !== token)
        throw new LeaseError('lease-lost', `the lease of ${resource} ended before it was adopted`, {
          resource,
        })
      return tools.handle(
        tools.keepGrant(context, options, renewal.lease, { sent, started: sent.mono, attempts: 1 }),
      )
    },
    { signal },
  )
}

/** `kind`: of the store that is to continue the lease. */
function checkTicket(ticket: unknown, kind: string, refuse: Tools['refuse']): LeaseTicket {
  const { type, store, id, token } = Object(ticket) as Partial<LeaseTicket>
  if (type !== 'holdfast-lease' || store !== kind || typeof id !== 'string' || !Number.isSafeInteger(token))
    refuse('ticket', `what detach() returned for a lease of a ${kind} store`, ticket)
  return ticket as LeaseTicket
}
