import { onAbort } from '../base/abort.ts'
import { expectFunction, expectOptions } from '../base/arguments.ts'
import { type Duration, expectTtl } from '../base/duration.ts'
import type { LeaseError } from '../base/errors.ts'
import { notify } from '../base/notify.ts'
import type { JsonObject } from '../base/records.ts'
import type { Keeper } from './keeper.ts'
import type { Lease } from './lease.ts'
import type { LeaseTicket } from './ticket.ts'

/** What the user sees of a lease. A class, because an object with its own accessors takes twice as long to create. */
export class LeaseHandle implements Lease {
  declare readonly resource: string
  declare readonly id: string
  declare readonly owner: string
  declare readonly token: number
  declare readonly metadata: JsonObject | null
  declare readonly share: number | null
  declare readonly acquiredAt: number
  /** What keeps this lease. Every lease of a manager is one of these. */
  static keeperOf(lease: Lease): Keeper {
    return (lease as LeaseHandle).#keeper
  }

  readonly #keeper: Keeper
  readonly #detach: Lease['detach']

  constructor(keeper: Keeper, detach: Lease['detach']) {
    const { record } = keeper
    this.#keeper = keeper
    this.#detach = detach
    this.resource = record.resource
    this.id = record.id
    this.owner = record.owner
    this.token = record.token
    this.metadata = record.metadata
    this.share = record.share
    this.acquiredAt = record.acquiredAt
  }

  get expiresAt(): number | null {
    return this.#keeper.expiresAt()
  }

  get held(): boolean {
    return this.#keeper.isHeld()
  }

  get signal(): AbortSignal {
    return this.#keeper.told.signal
  }

  onLost(listener: (error: LeaseError) => void): () => void {
    expectFunction('listener', listener)
    const { signal } = this
    return onAbort(signal, () => notify(listener, signal.reason))
  }

  async renew(options: { readonly ttl?: Duration | undefined } = {}): Promise<void> {
    expectOptions(options, { ttl: 1 })
    const { ttl } = options
    return ttl === undefined ? this.#keeper.renew() : this.#keeper.renewWith({ ttl: expectTtl(ttl) })
  }

  detach(): Promise<LeaseTicket> {
    return this.#detach()
  }

  release(): Promise<void> {
    return this.#keeper.release()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // An event reported the failure, and the lease ends with its TTL. The caller's own result counts.
    await this.release().catch(() => {})
  }
}
