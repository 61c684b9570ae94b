/**
 * The lock of a document, without HTTP: who may write a room now. A holder is a remote browser, so it asks, beats
 * and releases through the store's port with an id of its own, the same for every call that it makes about a room.
 */
import type { Ask, Grant, LeaseRecord, Refusal, Renewal } from '../core/index.ts'
import type { AuditEntry, Person } from '../protocol/index.ts'
import type { AuditLog } from './audit.ts'
import type { DocumentStore } from './documents.ts'
import { roomOf, roomResource } from './identity.ts'
import type { LeaseFeed } from './lease-feed.ts'
import type { OnError } from './service.ts'
import { Waits, type WaitsOptions } from './waits.ts'

/** Who asks: a session and its tab. */
export interface Party {
  /** Known to nobody else; the ids of its leases begin with it. */
  readonly key: string
  /** What others see. */
  readonly person: Person
}

export interface LocksOptions extends WaitsOptions {
  readonly documents: DocumentStore
  readonly audit: AuditLog
  readonly feed: LeaseFeed
  readonly ttl: number
  readonly onError: OnError
}

export type Locking = { readonly granted: true; readonly lease: LeaseRecord } | Refusal

export interface LockRequest {
  /** Stand in line so many milliseconds, or until the caller is gone. */
  readonly wait?: { readonly ms: number; readonly signal: AbortSignal }
  /** Take over, but only from this token. */
  readonly replace?: number
}

export type Unlocking = 'released' | 'none' | 'not-yours' | 'stale'

export class Locks {
  readonly #options: LocksOptions
  readonly #waits: Waits

  constructor(options: LocksOptions) {
    this.#options = options
    this.#waits = new Waits(options)
    options.feed.subscribe(({ phase, lease }) => {
      const room = roomOf(lease.resource)
      if (phase === 'started' && room !== null) this.#waits.granted(room, lease.id)
    })
  }

  async lock(room: string, party: Party, { wait, replace }: LockRequest = {}): Promise<Locking> {
    const { store, ttl } = this.#options
    const { session_id, client_id, name } = party.person
    const ask: Ask = {
      resource: roomResource(room),
      id: this.idOf(room, party),
      owner: session_id,
      ttl,
      metadata: {
        ...(client_id !== undefined && { client: client_id }),
        ...(name !== undefined && { name }),
      },
      ...(replace !== undefined && { replace }),
    }
    const answer = await (wait
      ? this.#waits.ask(ask, { room, person: party.person, ...wait })
      : store.acquire(ask))
    if (!answer.granted) return answer
    await this.settle(answer, session_id)
    return { granted: true, lease: answer.lease }
  }

  beat(room: string, party: Party): Promise<Renewal> {
    const { store, ttl } = this.#options
    return store.renew({ resource: roomResource(room), id: this.idOf(room, party), ttl })
  }

  /** With a token only that very lease, so that a late call frees no later one of the same tab. */
  async unlock(room: string, party: Party, token?: number): Promise<Unlocking> {
    const { store } = this.#options
    const resource = roomResource(room)
    const id = this.idOf(room, party)
    if (token !== undefined) {
      const holder = await this.holder(room)
      if (!holder) return 'none'
      if (holder.id !== id) return 'not-yours'
      if (holder.token !== token) return 'stale'
    }
    if (token === undefined) this.#waits.withdraw(room, id)
    else this.#waits.forget(room, id)
    const { ended, holder } = await store.release(
      token === undefined ? { resource, id } : { resource, token },
    )
    if (ended) this.ended(ended, 'unlock')
    if (ended) return 'released'
    return holder ? 'not-yours' : 'none'
  }

  async holder(room: string): Promise<LeaseRecord | null> {
    const [lease = null] = await this.#options.store.read([roomResource(room)])
    return lease
  }

  /** Of every lease that the party has on the room. */
  idOf(room: string, { key }: Party): string {
    return `${key}:${room}`
  }

  isHolder(room: string, party: Party, lease: LeaseRecord | null): boolean {
    return lease?.id === this.idOf(room, party)
  }

  async forceRelease(resource: string, by: string): Promise<LeaseRecord | null> {
    const { store } = this.#options
    const [lease] = await store.read([resource])
    if (!lease) return null
    const { ended } = await store.release({ resource, token: lease.token })
    if (ended) this.ended(ended, 'force-release', by)
    return ended
  }

  /** Ends what has run out, and drops what nobody needs. */
  async sweep(limit: number): Promise<readonly LeaseRecord[]> {
    const swept = await this.#options.store.sweep({ limit })
    for (const lease of swept) this.ended(lease, 'expired')
    return swept
  }

  /** A grant is answered only after the fence has risen: from then on its predecessor can save no more. */
  async settle({ lease, replaced }: Grant, by: string): Promise<void> {
    const { store, documents, feed } = this.#options
    if (replaced) this.ended(replaced, replaced.state === 'taken-over' ? 'take-over' : 'expired', by)
    const { resource, id, token } = lease
    const room = roomOf(resource)
    try {
      if (room !== null && (await documents.fence(room, { token, holder: id }))) this.#record('lock', lease)
    } catch (error) {
      await store.release({ resource, token }).catch(() => {})
      throw error
    }
    feed.tell(lease)
  }

  /** To be told of every end, whoever brought it about. */
  ended(lease: LeaseRecord, action: AuditEntry['action'], by?: string): void {
    this.#options.feed.tell(lease)
    this.#record(action, lease, by)
  }

  /** Other leases than those of documents come and go by the thousand. The lock stands though this fails. */
  #record(action: AuditEntry['action'], { resource, token, owner }: LeaseRecord, by?: string): void {
    const { audit, clock, onError } = this.#options
    if (roomOf(resource) === null && action !== 'force-release') return
    const at = new Date(clock.now()).toISOString()
    audit
      .append({ at, action, resource, token, owner, ...(by !== undefined && by !== owner && { by }) })
      .catch((error: unknown) => onError('audit', error))
  }
}
