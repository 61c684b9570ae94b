/**
 * The holding half of the port, on `project/.lock`. The resource is the scope, and the owner is the id of the project
 * lease, which is the id in the file. The file has no field for a token, so the time of the last change serves as
 * token. Nobody releases a project lease by its token.
 */
import type { Clock } from '../base/clock.ts'
import type { privateDirectory } from '../base/private-directory-browser.ts'
import type { randomId } from '../base/random-id.ts'
import type { LeaseRecord } from '../base/records.ts'
import type { Answer, Ask, HoldingStore, Released, RenewAsk, Renewal } from '../core/index.ts'
import { type GatedFileTools, gatedFile } from '../stores/browser/gated-file.ts'
import type { DirectorySource } from '../stores/browser/platform.ts'
import type { Claim } from './claim.ts'
import { isLive, type LockRecord, readRecords } from './lock-file.ts'
import type { TTL_MS } from './options.ts'
import type { describe, SCOPES, UNREADABLE } from './project-lease.ts'
import type { LockScope } from './types.ts'

/** It imports nothing, because the project lock loads it on demand: see Pages in ARCHITECTURE. */
export interface LockFileTools extends GatedFileTools {
  readonly SCOPES: typeof SCOPES
  readonly TTL_MS: typeof TTL_MS
  readonly UNREADABLE: typeof UNREADABLE
  readonly describe: typeof describe
  readonly privateDirectory: typeof privateDirectory
  readonly randomId: typeof randomId
}

/** What the file says about one scope. */
interface ScopeView {
  /** The record of the scope, live or expired. */
  readonly record: LockRecord | undefined
  /** The lease of the record if it is live. */
  readonly holder: LeaseRecord | null
  readonly now: number
}

/** Returns an answer and the new record. `null` removes the record; `undefined` keeps it as it is. */
type Transition<T> = (view: ScopeView) => readonly [answer: T, next?: LockRecord | null | undefined]

type ClaimsByOwner = ReadonlyMap<string, Claim>

/** `directory`: what contains `project/`. Default: the origin's private directory. */
export function lockFileStore(
  tools: LockFileTools,
  directory: DirectorySource | undefined,
  clock: Clock,
  claims: ClaimsByOwner,
): LockFileStore {
  const openProject = async () => {
    const root = typeof directory === 'object' ? directory : await (directory ?? tools.privateDirectory)()
    return root.getDirectoryHandle('project', { create: true })
  }
  return new LockFileStore(tools, gatedFile(tools, openProject, '.lock', clock), clock, claims)
}

class LockFileStore implements HoldingStore {
  readonly kind = 'lock-file'
  readonly supports = { queue: false, push: false, expiry: true, list: false, share: false }
  readonly #tools: LockFileTools
  readonly #file: ReturnType<typeof gatedFile>
  readonly #clock: Clock
  readonly #claims: ClaimsByOwner
  readonly #removalId: string
  /** The id of the project lease, by the id of the core's lease. */
  readonly #owners = new Map<string, string>()
  /** Ids of own records that could not be removed. This tab ignores them. */
  readonly #leftBehind: Set<string>

  constructor(tools: LockFileTools, file: ReturnType<typeof gatedFile>, clock: Clock, claims: ClaimsByOwner) {
    this.#tools = tools
    this.#file = file
    this.#clock = clock
    this.#claims = claims
    this.#removalId = tools.randomId()
    this.#leftBehind = new Set([this.#removalId])
  }

  async acquire({ resource, id, owner, ttl }: Ask): Promise<Answer> {
    // A later attempt of the same lease takes over what an earlier one has left, so the earlier one must not release it.
    for (const [earlier, its] of this.#owners) if (its === owner) this.#owners.delete(earlier)
    this.#leftBehind.delete(owner)
    this.#owners.set(id, owner)
    const transition: Transition<Answer> = ({ record, holder, now }) => {
      if (holder && holder.owner !== owner && !this.#claims.get(owner)?.steal)
        // A record that was shortened to the TTL is written back, so that it ends then for all tabs.
        return [
          { granted: false, holders: [holder], place: null, retryIn: null },
          holder.remaining === this.#tools.TTL_MS && record ? { ...record } : undefined,
        ]
      const next = { id: owner, ttlExpiresAt: now + ttl, mtime: now }
      const lease = { ...this.#leaseOf(resource, next, now), id }
      const replaced = record && record.id !== owner && this.#leaseOf(resource, record, now)
      return [{ granted: true, lease, ...(replaced && { replaced }) }, next]
    }
    const answer = await this.#change(resource, transition, true)
    if (!answer.granted) this.#owners.delete(id)
    return answer
  }

  renew({ resource, id, ttl }: RenewAsk): Promise<Renewal> {
    const owner = this.#owners.get(id) ?? ''
    // The core's own event comes only with the answer.
    this.#claims.get(owner)?.onHeartbeat()
    return this.#change<Renewal>(resource, ({ holder, now }) => {
      if (holder?.id !== owner) return [{ ok: false, holders: holder ? [holder] : [] }]
      const next = { id: owner, ttlExpiresAt: now + ttl, mtime: now }
      return [{ ok: true, lease: this.#leaseOf(resource, next, now) }, next]
    })
  }

  async release({ resource, id }: { readonly resource: string; readonly id: string }): Promise<Released> {
    const { LeaseError, messageOf } = this.#tools
    const owner = this.#owners.get(id)
    if (!owner) return { ended: null, holders: [] }
    try {
      const released = await this.#change<Released>(resource, ({ record, holder, now }) => {
        if (!record || record.id !== owner) return [{ ended: null, holders: holder ? [holder] : [] }]
        const state = holder ? 'released' : 'expired'
        return [{ ended: { ...this.#leaseOf(resource, record, now), state }, holders: [] }, null]
      })
      this.#owners.delete(id)
      return released
    } catch (cause) {
      if (this.#owners.has(id)) this.#leftBehind.add(owner)
      // Always retryable, because nobody else can remove the record before its TTL has passed.
      throw new LeaseError('store-unavailable', messageOf(cause), { cause })
    }
  }

  /** Removes the record of the scope, no matter who wrote it. */
  clear(scope: LockScope): Promise<void> {
    return this.#change<void>(scope, ({ record }) => [undefined, record && null])
  }

  async close(): Promise<void> {}

  #change<T>(scope: string, transition: Transition<T>, create = false): Promise<T> {
    return this.#file.change((content) => {
      const now = this.#clock.now()
      const found = Object.entries(readRecords(this.#tools, content, now))
      const records = Object.fromEntries(found.filter(([, { id }]) => !this.#leftBehind.has(id)))
      const record = records[scope]
      const holder = isLive(record, now) ? this.#leaseOf(scope, record, now) : null
      const [result, next = record] = transition({ record, holder, now })
      // Every write removes the expired records of all scopes.
      const left = Object.entries({ ...records, [scope]: next }).filter(([, record]) => isLive(record, now))
      const text = JSON.stringify(Object.fromEntries(left))
      if (left.length > 0) return next === record ? { result } : { result, text }
      if (!content) return { result }
      const leaving = { id: this.#removalId, ttlExpiresAt: now + this.#tools.TTL_MS, mtime: now }
      return { result, text, removal: JSON.stringify({ autosave: leaving, history: leaving }) }
    }, create)
  }

  #leaseOf(resource: string, { id, mtime, ttlExpiresAt }: LockRecord, now: number): LeaseRecord {
    const remaining = Math.max(0, ttlExpiresAt - now)
    return this.#tools.describe(resource, { id, owner: id }, mtime, ttlExpiresAt, remaining)
  }
}
