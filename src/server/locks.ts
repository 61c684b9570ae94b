/**
 * The lock of a document, without HTTP. Its holder is a remote browser, which asks, renews and releases through the
 * store's port. A client has one id for each room, the same in all its requests.
 */
import { LeaseError } from '../base/errors.ts'
import type { LeaseRecord } from '../base/records.ts'
import type { Ask, Grant, Refusal, Renewal } from '../core/index.ts'
import type { AuditEntry, Person } from '../protocol/index.ts'
import { personOf } from './announcer.ts'
import type { AuditLog } from './audit.ts'
import type { DocumentStore } from './documents.ts'
import type { HolderNames } from './holder-names.ts'
import { roomOf, roomResource } from './identity.ts'
import type { LeaseFeed } from './lease-feed.ts'
import { setLimited } from './limited-map.ts'
import { MAX_REMEMBERED_GRANTS, SURELY_REPEATED_MS } from './options.ts'
import type { Terms } from './room-terms.ts'
import type { OnError } from './service.ts'
import type { LeaseChange } from './stats.ts'
import { WaitingRequests, type WaitingRequestsOptions, Withdrawn } from './waiting-requests.ts'

/** What may hold a lock: a browser tab or another client of an identity. */
export interface LockClient {
  /** Secret. The ids of its leases begin with it. */
  readonly key: string
  /** What others see. */
  readonly person: Person
}

export interface LocksOptions extends WaitingRequestsOptions {
  readonly documents: DocumentStore
  readonly audit: AuditLog
  readonly feed: LeaseFeed
  readonly names: HolderNames
  readonly termsOf: (room: string) => Terms
  readonly onError: OnError
  /** Called when this node has granted or ended a lease. */
  readonly onChange?: ((change: LeaseChange) => void) | undefined
}

export type LockResult = { readonly granted: true; readonly lease: LeaseRecord } | Refusal

export interface LockOptions {
  /** How long to wait in the queue, in milliseconds; the signal ends the wait earlier. */
  readonly wait?: { readonly ms: number; readonly signal: AbortSignal } | undefined
  /** Take the lock over, but only from the lease with this token. */
  readonly replace?: number | undefined
}

const CHANGES: Partial<Record<AuditEntry['action'], LeaseChange>> = {
  'take-over': 'taken-over',
  expired: 'expired',
}

export type UnlockResult = 'released' | 'none' | 'not-yours' | 'stale'

export class Locks {
  readonly #options: LocksOptions
  readonly #waiting: WaitingRequests
  /** The tokens of the latest grants of this node, by resource and id. */
  readonly #granted = new Map<string, number>()

  constructor(options: LocksOptions) {
    this.#options = options
    this.#waiting = new WaitingRequests(options)
    options.feed.subscribe(({ phase, lease }) => {
      const room = roomOf(lease.resource)
      if (phase === 'started' && room !== null) this.supersede(room, lease.id)
    })
  }

  async lock(room: string, client: LockClient, { wait, replace }: LockOptions = {}): Promise<LockResult> {
    const { store, termsOf } = this.#options
    const { person } = client
    const { session_id, client_id, name } = person
    const ask: Ask = {
      resource: roomResource(room),
      id: this.idOf(room, client),
      owner: session_id,
      ttl: termsOf(room).ttl,
      metadata: {
        ...(client_id !== undefined && { client: client_id }),
        ...(name !== undefined && { name }),
      },
      ...(replace !== undefined && { replace }),
    }
    const asking = wait ? this.#waiting.acquire(ask, { room, person, ...wait }) : store.acquire(ask)
    const answer = await asking.catch((error: unknown) => {
      // A store rejects a request that waits in the process when its id is released: a later unlock overtook it.
      throw isAborted(error) ? new Withdrawn() : error
    })
    if (!answer.granted) return { ...answer, holders: answer.holders.map((lease) => this.#current(lease)) }
    await this.acceptGrant(answer, session_id)
    return { granted: true, lease: answer.lease }
  }

  /** The client with this id has the lock, or waits for it at another node. Its request that waits here ends. */
  supersede(room: string, id: string): void {
    this.#waiting.supersede(room, id)
  }

  /** The client has given up, at another node, what it asked for before this time. */
  withdrawnElsewhere(room: string, person: Person, before: number): void {
    this.#waiting.withdrawnElsewhere(room, person, before)
  }

  /** The server stops. Its clients go on at other nodes. */
  stop(): void {
    this.#waiting.stop()
  }

  renew(room: string, client: LockClient): Promise<Renewal> {
    const { store, termsOf } = this.#options
    const { ttl } = termsOf(room)
    return store.renew({ resource: roomResource(room), id: this.idOf(room, client), ttl })
  }

  /** With a token, only that lease is released: a late request must not release a later lock of the same client. */
  async unlock(room: string, client: LockClient, token?: number): Promise<UnlockResult> {
    const { store } = this.#options
    const resource = roomResource(room)
    const id = this.idOf(room, client)
    if (token !== undefined) {
      const holder = await this.holder(room)
      if (!holder) return 'none'
      if (holder.id !== id) return 'not-yours'
      if (holder.token !== token) return 'stale'
    }
    if (token === undefined) this.#waiting.withdraw(room, id)
    else this.#waiting.forget(room, id)
    const { ended, holders } = await store.release(
      token === undefined ? { resource, id } : { resource, token },
    )
    if (ended) {
      this.ended(ended, 'unlock')
      return 'released'
    }
    return holders.length > 0 ? 'not-yours' : 'none'
  }

  async holder(room: string): Promise<LeaseRecord | null> {
    const [lease = null] = await this.holders([room])
    return lease
  }

  /** In the order of the rooms. */
  async holders(rooms: readonly string[]): Promise<readonly (LeaseRecord | null)[]> {
    const found = await this.#options.store.read(rooms.map(roomResource))
    return found.map((leases) => {
      const lease = leases.find(({ state }) => state === 'held')
      return lease ? this.#current(lease) : null
    })
  }

  /** The id of every lease that the client has on the room. */
  idOf(room: string, { key }: LockClient): string {
    return `${key}:${room}`
  }

  isHolder(room: string, client: LockClient, lease: LeaseRecord | null): boolean {
    return lease?.id === this.idOf(room, client)
  }

  /** Ends all leases of the resource that are live or keep it, or the one with this token. Whether there was one. */
  async forceRelease(resource: string, by: string, only?: number): Promise<boolean> {
    const { store } = this.#options
    const [leases = []] = only === undefined ? await store.read([resource]) : [[{ token: only }]]
    let isEnded = false
    for (const { token } of leases) {
      const { ended } = await store.release({ resource, token })
      if (!ended) continue
      this.ended(ended, 'force-release', by)
      isEnded = true
    }
    return isEnded
  }

  /** The live leases of the resource, as far as this node knows. */
  known(resource: string): readonly LeaseRecord[] {
    return this.#options.feed.leasesOf(resource)
  }

  /** Ends expired leases, and deletes rows that nobody needs. */
  async sweep(limit: number): Promise<readonly LeaseRecord[]> {
    const swept = await this.#options.store.sweep({ limit })
    for (const lease of swept) this.ended(lease, 'expired')
    return swept
  }

  /**
   * Raises the fence before the grant is answered. From then on the previous holder cannot save. `stolen`: those who
   * held the resource before, if the grant ended all of them.
   */
  async acceptGrant(
    { lease, replaced }: Grant,
    by: string,
    stolen: readonly LeaseRecord[] = [],
  ): Promise<void> {
    const { store, documents, feed } = this.#options
    // A repeated request ends nothing: leases with higher tokens are still live.
    for (const one of stolen)
      if (one.token < lease.token && one.token !== replaced?.token)
        this.ended({ ...one, state: 'taken-over', remaining: 0 }, 'take-over', by)
    if (replaced) this.ended(replaced, replaced.state === 'taken-over' ? 'take-over' : 'expired', by)
    const { resource, id, token } = lease
    const room = roomOf(resource)
    try {
      if (room !== null && (await documents.fence(room, { token, holder: id }))) this.#record('lock', lease)
    } catch (error) {
      // A repeated request only renewed its lease, and a renewal that fails changes nothing.
      if (!this.#isRepeated(lease)) await store.release({ resource, token }).catch(() => {})
      throw error
    }
    this.#countGrant(lease)
    feed.observe(lease)
  }

  /** Must be called for every lease that ended, no matter who ended it. */
  ended(lease: LeaseRecord, action: AuditEntry['action'], by?: string): void {
    const { feed } = this.#options
    if (action === 'force-release') feed.observe(lease)
    else feed.observeEnd(lease)
    this.#options.onChange?.(CHANGES[action] ?? 'released')
    this.#record(action, lease, by)
  }

  /** Whether the lease was granted before, here or at another node. */
  #isRepeated({ resource, id, token, acquiredAt, expiresAt, remaining }: LeaseRecord): boolean {
    if (this.#granted.get(`${resource}\t${id}`) === token) return true
    if (expiresAt === null || remaining === null) return false
    // All three are by the clock of the store.
    return expiresAt - remaining - acquiredAt >= SURELY_REPEATED_MS
  }

  /** A repeated request is granted again with the same token. */
  #countGrant({ resource, id, token }: LeaseRecord): void {
    const key = `${resource}\t${id}`
    if (this.#granted.get(key) === token) return
    setLimited(this.#granted, key, token, MAX_REMEMBERED_GRANTS)
    this.#options.onChange?.('granted')
  }

  recordDeletion(room: string, by: string): void {
    this.#append({ action: 'delete', resource: roomResource(room), owner: by, token: 0 })
  }

  /**
   * Of other leases than those of documents, only a forced release is recorded: there are too many of them. If the
   * record fails, the lock stays as it is.
   */
  #record(action: AuditEntry['action'], lease: LeaseRecord, by?: string): void {
    const { resource, token, owner } = lease
    if (roomOf(resource) === null && action !== 'force-release') return
    const { name } = personOf(this.#current(lease))
    this.#append({
      action,
      resource,
      token,
      owner,
      ...(name !== undefined && { owner_name: name }),
      ...(by !== undefined && by !== owner && { by }),
    })
  }

  #current(lease: LeaseRecord): LeaseRecord {
    return this.#options.names.current(lease)
  }

  #append(entry: Omit<AuditEntry, 'at'>): void {
    const { audit, clock, onError } = this.#options
    audit
      .append({ at: new Date(clock.now()).toISOString(), ...entry })
      .catch((error: unknown) => onError('audit', error))
  }
}

function isAborted(error: unknown): boolean {
  return error instanceof LeaseError && error.code === 'aborted'
}
