/**
 * Changes of leases. Each reads a resource, decides, and writes in a transaction that fails if a lease or a waiter was
 * added since. What was removed since only makes more room. The client repeats a request by itself when it got no
 * answer, so each transaction may be carried out twice: the second one then fails, or finds the result of the first.
 */
import type { Clock } from '../../base/clock.ts'
import type { LeaseRecord } from '../../base/records.ts'
import type { EtcdCondition, EtcdDatabase, EtcdEntry, EtcdOperation } from '../../clients/etcd.ts'
import { isLeaseGone } from '../../clients/etcd-errors.ts'
import type { Ask, Grant, ReleaseAsk } from '../../core/index.ts'
import type { KeptBy, KeyKind, Keys } from './names.ts'
import type { Renewals } from './renewals.ts'
import {
  decodeLease,
  encodeLease,
  endedRecordOf,
  recordOf,
  type Stored,
  type StoredLease,
  secondsOf,
  tokenOf,
} from './rows.ts'
import type { EtcdLease, SpareLeases } from './spare-leases.ts'
import { type ResourceState, replaces } from './state.ts'

export interface Ended {
  readonly ended: LeaseRecord | null
  /** What is still live. */
  readonly left: readonly EtcdEntry[]
}

export interface TransitionsOptions {
  readonly database: EtcdDatabase
  readonly keys: Keys
  readonly spares: SpareLeases
  readonly renewals: Renewals
  readonly clock: Clock
}

export class Transitions {
  readonly #database: EtcdDatabase
  readonly #keys: Keys
  readonly #spares: SpareLeases
  readonly #renewals: Renewals
  readonly #clock: Clock

  constructor({ database, keys, spares, renewals, clock }: TransitionsOptions) {
    this.#database = database
    this.#keys = keys
    this.#spares = spares
    this.#renewals = renewals
    this.#clock = clock
  }

  /** Grants the request in this state. `null`: the state has changed. */
  async grant(state: ResourceState, ask: Ask): Promise<Grant | null> {
    const { resource, id, owner, ttl, metadata = null, atLeast = 0, lockDelay = 0 } = ask
    const keys = this.#keys
    const share = state.queue.find(({ value }) => value.id === id)?.value.share ?? ask.share ?? null
    const [main, delay, least] = await Promise.all([
      this.#spares.take(secondsOf(ttl)) ?? this.#spares.grant(secondsOf(ttl)),
      lockDelay > 0 ? this.#database.grantLease(secondsOf(ttl + lockDelay)) : null,
      atLeast > 0 ? this.#database.grantLease(secondsOf(atLeast)) : null,
    ])
    const value: StoredLease = {
      ...{ id, owner, metadata, share, acquiredAt: this.#clock.now(), ttl: secondsOf(ttl) },
      ...(delay && { delay: { lease: delay.lease, seconds: secondsOf(lockDelay) } }),
      ...(least && { least: { lease: least.lease, seconds: secondsOf(atLeast) } }),
    }
    const text = encodeLease(value)
    const key = keys.key('l', resource, id)
    const keep = (by: KeptBy, lease: string) => ({ put: keys.kept(resource, id, by), value: text, lease })
    const puts = [
      { put: key, value: text, lease: main.lease },
      { put: keys.key('e', resource, id), value: text },
      { put: keys.used(main.lease), value: '', lease: main.lease },
      ...(delay ? [keep('lock-delay', delay.lease)] : []),
      ...(least ? [keep('at-least', least.lease)] : []),
    ]
    const [taken, freed] = replaces(state, ask) ? [state.leases, state.kept] : [[], []]
    const removed = [
      ...(state.own ? [state.own.key] : []),
      ...[...state.expired, ...taken, ...freed].map(({ entry }) => entry.key),
      ...taken.map(({ value }) => keys.key('e', resource, value.id)),
    ]
    const written = new Set(puts.map(({ put }) => put))
    const granting = this.#database.transact(
      [is(keys.used(main.lease), 'modified', main.usedRevision), ...this.#unchanged(state, ask, taken)],
      [...puts, ...removed.filter((name) => !written.has(name)).map((name) => ({ remove: name }))],
    )
    const refreshing = this.#spares.refresh(main)
    refreshing.catch(() => {})
    const answer = await granting.catch((error: unknown) => {
      // This process stood still for so long that the etcd lease has expired.
      if (isLeaseGone(error)) return null
      throw error
    })
    if (!answer?.succeeded) {
      // The answer to the first copy of this transaction may have been lost, and it was granted.
      const unused = [delay, least].filter((lease) => lease !== null)
      this.#putBack(key, main, unused).catch(() => {})
      return null
    }
    for (const { entry } of [...taken, ...freed]) this.#spares.revoke(entry.lease)
    // It may have ended before it was refreshed.
    if (!(await refreshing)) return null
    const now = this.#clock.now()
    const { revision } = answer
    const entry = { key, value: text, created: revision, modified: revision, lease: main.lease }
    const replaced = [
      ...state.expired.map((lease) => endedRecordOf(resource, lease, 'expired', now)),
      ...taken.map((lease) => endedRecordOf(resource, lease, 'taken-over', now)),
    ].at(-1)
    const lease = recordOf(resource, { entry, value }, value.ttl, now)
    return { granted: true, lease, ...(replaced && { replaced }) }
  }

  /** Extends a live lease. `null`: it has ended. */
  async extend(resource: string, lease: Stored<StoredLease>, ttlMs: number): Promise<LeaseRecord | null> {
    const { entry, value } = lease
    const wanted = secondsOf(ttlMs)
    const left = value.ttl > wanted ? await this.#database.secondsLeft(entry.lease) : 0
    if (left < 0) return null
    // It was renewed for longer before, and a renewal never shortens a lease.
    if (left > wanted)
      return (await this.#renewals.touch(entry)) ? recordOf(resource, lease, left, this.#clock.now()) : null
    if (value.ttl !== wanted) return this.#exchange(resource, lease, wanted)
    const [seconds, isLive] = await Promise.all([
      this.#database.keepAlive(entry.lease),
      this.#renewals.touch(entry),
      value.delay && this.#database.keepAlive(value.delay.lease),
    ])
    return seconds > 0 && isLive ? recordOf(resource, lease, seconds, this.#clock.now()) : null
  }

  release(by: ReleaseAsk): Promise<Ended> {
    return 'id' in by ? this.#releaseId(by.resource, by.id) : this.#force(by.resource, by.token)
  }

  /** Returns an expired lease to the first who asks. `null`: it was returned to another, or was granted again. */
  async expire(resource: string, lease: Stored<StoredLease>): Promise<LeaseRecord | null> {
    const { key, modified } = lease.entry
    const live = this.#keys.key('l', resource, lease.value.id)
    const { succeeded } = await this.#database.transact(
      [is(key, 'modified', modified), is(live, 'created', 0)],
      [{ remove: key }],
    )
    return succeeded ? endedRecordOf(resource, lease, 'expired', this.#clock.now()) : null
  }

  /** Joins the queue, attached to the etcd lease of this process. Resolves with the number of waiters ahead. */
  async join({ resource, id }: Ask, value: string, session: string): Promise<number> {
    const put = this.#keys.key('q', resource, id)
    const count: EtcdOperation = { get: { ...this.#keys.of('q', resource), limit: 1, keysOnly: true } }
    const { results } = await this.#database.transact(
      [is(put, 'created', 0)],
      [{ put, value, lease: session }, count],
      [count],
    )
    return Math.max(0, (results.at(-1)?.count ?? 1) - 1)
  }

  /** The waiter goes on at this process, and keeps its place when the first one ends. */
  async move({ key, created, value }: EtcdEntry, session: string): Promise<void> {
    await this.#database.transact([is(key, 'created', created)], [{ put: key, value, lease: session }])
  }

  /** Removes waiters that missed their turn, unless they have joined again. */
  async drop(waiters: readonly EtcdEntry[]): Promise<void> {
    const remove = ({ key, created }: EtcdEntry) =>
      this.#database.transact([is(key, 'created', created)], [{ remove: key }])
    await Promise.all(waiters.map(remove))
  }

  /** No lease was added, and nobody joined the queue before the caller. */
  #unchanged(state: ResourceState, ask: Ask, taken: readonly Stored<StoredLease>[]): EtcdCondition[] {
    const { resource, revision, own } = state
    const nothingNew = (kind: KeyKind): EtcdCondition => ({
      ...this.#keys.of(kind, resource),
      compare: 'created',
      is: 'less',
      than: revision + 1,
    })
    const place = own ? is(own.key, 'created', own.created) : nothingNew('q')
    return [
      nothingNew('l'),
      nothingNew('e'),
      // A lease that was granted and released since may keep the resource.
      nothingNew('k'),
      ...(replaces(state, ask) ? taken.map(({ entry }) => is(entry.key, 'created', entry.created)) : [place]),
      ...state.expired.map(({ entry }) => is(entry.key, 'modified', entry.modified)),
    ]
  }

  /** Attaches the lease to an etcd lease with another TTL. */
  async #exchange(
    resource: string,
    { entry, value }: Stored<StoredLease>,
    wanted: number,
  ): Promise<LeaseRecord | null> {
    const { id, delay } = value
    const [main, delayed] = await Promise.all([
      this.#database.grantLease(wanted),
      delay ? this.#database.grantLease(wanted + delay.seconds) : null,
    ])
    const renewed: StoredLease = {
      ...value,
      ttl: wanted,
      ...(delay && delayed && { delay: { ...delay, lease: delayed.lease } }),
    }
    const text = encodeLease(renewed)
    const operations: EtcdOperation[] = [{ put: entry.key, value: text, lease: main.lease }]
    if (delayed)
      operations.push({ put: this.#keys.kept(resource, id, 'lock-delay'), value: text, lease: delayed.lease })
    const { succeeded } = await this.#database.transact([is(entry.key, 'created', entry.created)], operations)
    const unused = succeeded ? [entry.lease, delay?.lease] : [main.lease, delayed?.lease]
    for (const lease of unused) if (lease !== undefined) this.#spares.revoke(lease)
    return succeeded ? recordOf(resource, { entry, value: renewed }, main.ttl, this.#clock.now()) : null
  }

  async #releaseId(resource: string, id: string): Promise<Ended> {
    const keys = this.#keys
    const live = keys.key('l', resource, id)
    const both: EtcdOperation[] = [
      { remove: keys.key('e', resource, id) },
      { remove: keys.key('q', resource, id) },
    ]
    const left: EtcdOperation = { get: keys.of('l', resource) }
    const { succeeded, results } = await this.#database.transact(
      [{ key: live, compare: 'created', is: 'greater', than: 0 }],
      [{ remove: live }, ...both, { remove: keys.kept(resource, id, 'lock-delay') }, left],
      [...both, left],
    )
    const others = results.at(-1)?.entries ?? []
    const removed = results[0]?.entries[0]
    if (!removed) return { ended: null, left: others }
    const lease = decodeLease(removed)
    if (succeeded) this.#free(lease)
    const state = succeeded ? 'released' : 'expired'
    return { ended: endedRecordOf(resource, lease, state, this.#clock.now()), left: others }
  }

  /** Ends the lease with this token, and what it keeps. */
  async #force(resource: string, token: number): Promise<Ended> {
    const ranges = (['l', 'e', 'k'] as const).map((kind) => ({ get: this.#keys.of(kind, resource) }))
    const { results } = await this.#database.transact([], ranges)
    const found = results.flatMap(({ entries }) => entries).filter((entry) => tokenOf(entry) === token)
    if (found.length === 0) return { ended: null, left: results[0]?.entries ?? [] }
    const answer = await this.#database.transact(
      found.map((entry) => is(entry.key, entry.lease === '0' ? 'modified' : 'created', token)),
      [...found.map(({ key }) => ({ remove: key })), { get: this.#keys.of('l', resource) }],
    )
    // It was released, or has expired, meanwhile.
    if (!answer.succeeded) return this.#force(resource, token)
    for (const { lease } of found) if (lease !== '0') this.#spares.revoke(lease)
    const find = (kind: KeyKind) => found.find(({ key }) => this.#keys.parse(key)?.kind === kind)
    const record = find('e') ?? find('k')
    // Without either, it was released and kept the resource.
    const state = find('l') || !find('e') ? 'released' : 'expired'
    const ended = record ? endedRecordOf(resource, decodeLease(record), state, this.#clock.now()) : null
    return { ended, left: answer.results.at(-1)?.entries ?? [] }
  }

  /** The etcd leases of a request that was not granted. If it was granted after all, they stay. */
  async #putBack(key: string, main: EtcdLease, others: readonly { readonly lease: string }[]): Promise<void> {
    const { results } = await this.#database.transact(
      [],
      [{ get: { key } }, { get: { key: this.#keys.used(main.lease), keysOnly: true } }],
    )
    const [live, used] = results.map(({ entries }) => entries[0])
    if (live?.lease === main.lease) return
    if ((used?.modified ?? 0) === main.usedRevision) this.#spares.give(main)
    else this.#spares.revoke(main.lease)
    for (const { lease } of others) this.#spares.revoke(lease)
  }

  /** The etcd leases of a lease that was released. */
  #free({ entry, value: { ttl, delay } }: Stored<StoredLease>): void {
    if (delay) this.#spares.revoke(delay.lease)
    // After a renewal for another TTL it is not the etcd lease of the grant, and cannot be used again.
    this.#spares.give({ lease: entry.lease, seconds: ttl, usedRevision: entry.created })
  }
}

function is(key: string, compare: EtcdCondition['compare'], revision: number): EtcdCondition {
  return { key, compare, is: 'equal', than: revision }
}
