import type { Stop } from '../base/abort.ts'
import { expectOptions, refuse } from '../base/arguments.ts'
import { moment } from '../base/clock.ts'
import { type Duration, expectTtl } from '../base/duration.ts'
import { LeaseError } from '../base/errors.ts'
import { answerOf, type Context } from './context.ts'
import { HeldLease } from './held-lease.ts'
import type { Lease } from './lease.ts'
import type { CheckedOptions } from './options.ts'
import { FREE, reduce } from './state.ts'

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

/** A lease that can be handed over to another process. */
export class TransferableLease extends HeldLease implements Lease {
  readonly #context: Context
  readonly #ttl: number

  constructor(...args: ConstructorParameters<typeof HeldLease>) {
    super(...args)
    const [context, { ttl }] = args
    this.#context = context
    this.#ttl = ttl
  }

  override async renew(options: { readonly ttl?: Duration | undefined } = {}): Promise<void> {
    expectOptions(options, { ttl: 1 })
    const { ttl } = options
    return ttl === undefined ? super.renew() : this.renewNow({ ttl: expectTtl(ttl) })
  }

  async detach(): Promise<LeaseTicket> {
    const { resource, id, token, expiresAt } = this
    const { store, emit } = this.#context
    if (expiresAt === null)
      throw new LeaseError('store-failed', `${resource} cannot be detached: it ends with this page`, {
        resource,
      })
    await this.renewNow({ endsWithProcess: false })
    emit(this, { type: 'released', heldFor: this.letGo() })
    return { type: 'holdfast-lease', store: store.kind, resource, id, token, ttl: this.#ttl }
  }
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
): Promise<TransferableLease> {
  const { store, clock, callTimeout, endsWithProcess } = context
  const { ttl } = options
  const sent = moment(clock)
  const renewing = store.renew({ resource, id, ttl, endsWithProcess }, stop)
  const renewal = await answerOf(context, renewing, callTimeout, resource, stop)
  if (!renewal.ok || renewal.lease.token !== token)
    throw new LeaseError('lease-lost', `the lease of ${resource} ended before it was adopted`, { resource })
  const { lease } = renewal
  const at = moment(clock)
  const state = reduce(FREE, { type: 'granted', sent, at, options, remaining: lease.remaining })
  if (state.phase !== 'held')
    throw new LeaseError('store-unavailable', 'the answer arrived after the deadline of the lease', {
      resource,
    })
  const held = new TransferableLease(context, options, lease, state)
  const { expiresAt } = lease
  context.emit(held, { type: 'acquired', expiresAt, attempts: 1, waited: at.mono - sent.mono }, at.wall)
  return held
}
