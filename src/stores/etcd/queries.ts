/** Reads what is held and waited for, and finds what has expired. */
import type { Stop } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import type { LeaseRecord } from '../../base/records.ts'
import { compareUtf8 } from '../../base/utf8-order.ts'
import type { EtcdDatabase, EtcdEntry, EtcdOperation } from '../../clients/etcd.ts'
import type { LeasePage, ListQuery, WaitingQuery, WaitingQueue } from '../../core/index.ts'
import { cursorOf, cutPage } from '../lease-page.ts'
import { limitConcurrency } from '../local/limit-concurrency.ts'
import { MAX_PAGE } from '../options.ts'
import { type KeptLease, keptAfterEnd } from './kept.ts'
import type { KeyKind, Keys } from './names.ts'
import { MAX_OPERATIONS, QUESTIONS_AT_ONCE, SWEEP_PAGE, SWEEP_PAGES } from './options.ts'
import {
  decodeLease,
  decodeWaiter,
  keptRecordOf,
  readableLease,
  recordOf,
  type Stored,
  type StoredLease,
} from './rows.ts'
import type { Transitions } from './transitions.ts'

export class Queries {
  readonly #database: EtcdDatabase
  readonly #keys: Keys
  readonly #transitions: Transitions
  readonly #clock: Clock
  readonly #inLine = limitConcurrency(QUESTIONS_AT_ONCE)
  /** Where the next sweep begins. */
  #sweepFrom: string

  constructor(database: EtcdDatabase, keys: Keys, transitions: Transitions, clock: Clock) {
    this.#database = database
    this.#keys = keys
    this.#transitions = transitions
    this.#clock = clock
    this.#sweepFrom = keys.all('e').key
  }

  async read(
    resources: readonly string[],
    decode: (entry: EtcdEntry) => Stored<StoredLease> | null = decodeLease,
  ): Promise<LeaseRecord[][]> {
    const both = (resource: string) => [
      { get: this.#keys.of('l', resource) },
      { get: this.#keys.of('k', resource) },
    ]
    const found = await this.inBatches(resources.flatMap(both))
    const decoded = (index: number) =>
      (found[index]?.entries ?? []).map(decode).filter((lease) => lease !== null)
    return Promise.all(
      resources.map((resource, index) => {
        const leases = decoded(2 * index)
        return this.records(resource, leases, keptAfterEnd(leases, decoded(2 * index + 1)))
      }),
    )
  }

  /** The live leases of a resource, oldest first. */
  async holders(resource: string): Promise<LeaseRecord[]> {
    const [found] = await this.inBatches([{ get: this.#keys.of('l', resource) }])
    return this.records(resource, (found?.entries ?? []).map(decodeLease))
  }

  /** The live leases of these resources, without a question for the time that each has left. */
  async live(resources: readonly string[]): Promise<LeaseRecord[][]> {
    const found = await this.inBatches(resources.map((resource) => ({ get: this.#keys.of('l', resource) })))
    return resources.map((resource, index) =>
      this.atMost(resource, (found[index]?.entries ?? []).map(decodeLease)),
    )
  }

  /** By their tokens, with the longest time that each may have left. */
  atMost(resource: string, leases: readonly Stored<StoredLease>[]): LeaseRecord[] {
    const records = leases.map((lease) => recordOf(resource, lease, lease.value.ttl, this.#clock.now()))
    return records.sort((a, b) => a.token - b.token)
  }

  /** By their tokens, with the time that each has left. One that ends meanwhile is left out. */
  async records(
    resource: string,
    leases: readonly Stored<StoredLease>[],
    kept: readonly KeptLease[] = [],
  ): Promise<LeaseRecord[]> {
    const described = leases.map(async (lease) => {
      const left = await this.#inLine(() => this.#database.secondsLeft(lease.entry.lease))
      // Rounded up: it must not seem to have ended before it has.
      return left < 0 ? null : recordOf(resource, lease, left + 1, this.#clock.now())
    })
    const keeping = kept.map(async ({ lease, keys }) => {
      const left = await this.msLeft(keys)
      return left === 0 ? null : keptRecordOf(resource, lease, left, this.#clock.now())
    })
    const found = (await Promise.all([...described, ...keeping])).filter((record) => record !== null)
    return found.sort((a, b) => a.token - b.token)
  }

  /** How long these keys keep the resource. */
  async msLeft(keys: readonly EtcdEntry[]): Promise<number> {
    const left = keys.map(({ lease }) => this.#inLine(() => this.#database.secondsLeft(lease)))
    return Math.max(0, ...(await Promise.all(left)).map((seconds) => seconds + 1)) * 1000
  }

  async waiting({ resources, limit }: WaitingQuery): Promise<WaitingQueue[]> {
    const queue = (resource: string): EtcdOperation => ({
      get: { ...this.#keys.of('q', resource), byCreation: true, limit: Math.max(limit, 1) },
    })
    const found = await this.inBatches(resources.map(queue))
    return found.map(({ entries, count }) => ({
      count,
      first: entries.slice(0, limit).map((entry, place) => {
        const { id, owner, share } = decodeWaiter(entry).value
        return { id, owner, share, place }
      }),
    }))
  }

  async list({ prefix = '', after, ...query }: ListQuery): Promise<LeasePage> {
    const limit = Math.min(query.limit, MAX_PAGE)
    const cursor = cursorOf(after)
    const { names, horizon } = await this.#names(prefix, after, limit + 1)
    const before = cursor.token < Infinity ? [cursor.resource] : []
    // Again by resource: the leases of one are in the order of their ids, and are needed in that of their tokens.
    const found = (await this.read([...before, ...names], readableLease)).flat()
    const later = found.filter(({ resource, token }) => resource !== cursor.resource || token > cursor.token)
    const listed = cutPage(later, limit)
    // Damaged and ended leases were counted, so there may be more although the page is not full.
    return !listed.next && horizon !== undefined ? { ...listed, next: horizon } : listed
  }

  /**
   * The resources that have leases, or are kept, and sort after `after`. Of each kind of key, at most `limit` are read.
   * If there are more, the names are complete only up to the horizon.
   */
  async #names(
    prefix: string,
    after: string | undefined,
    limit: number,
  ): Promise<{ readonly names: readonly string[]; readonly horizon: string | undefined }> {
    const range = (kind: KeyKind) => {
      const all = this.#keys.all(kind, prefix)
      const { end } = this.#keys.of(kind, cursorOf(after).resource)
      return { key: after !== undefined && end > all.key ? end : all.key, end: all.end }
    }
    const pages = await this.inBatches(
      (['l', 'k'] as const).map((kind) => ({ get: { ...range(kind), limit, keysOnly: true } })),
    )
    const nameOf = ({ key }: EtcdEntry) => this.#keys.parse(key)?.resource ?? ''
    const cut = pages.filter(({ entries }) => entries.length >= limit)
    const [horizon] = cut.map(({ entries }) => nameOf(entries.at(-1) as EtcdEntry)).sort(compareUtf8)
    const names = new Set(pages.flatMap(({ entries }) => entries.map(nameOf)))
    const isKnown = (name: string) => horizon === undefined || compareUtf8(name, horizon) <= 0
    return { names: [...names].filter(isKnown).sort(compareUtf8), horizon }
  }

  async sweep(limit: number, stop: Stop): Promise<LeaseRecord[]> {
    const swept: LeaseRecord[] = []
    for (let pages = 0; pages < SWEEP_PAGES && swept.length < limit && !stop.reason; pages++) {
      const { end } = this.#keys.all('e')
      const [ended] = await this.inBatches([{ get: { key: this.#sweepFrom, end, limit: SWEEP_PAGE } }])
      const entries = ended?.entries ?? []
      const [first, last] = [entries.at(0), entries.at(-1)]
      if (!first || !last) {
        this.#sweepFrom = this.#keys.all('e').key
        break
      }
      const live = (key: string) => this.#keys.all('l').key + key.slice(this.#keys.all('e').key.length)
      const [found] = await this.inBatches([
        { get: { key: live(first.key), end: `${live(last.key)}\0`, keysOnly: true } },
      ])
      const held = new Set(found?.entries.map(({ key }) => key))
      const expired = entries.filter(({ key }) => !held.has(live(key)))
      const taken = expired.slice(0, limit - swept.length)
      for (const entry of taken) {
        const resource = this.#keys.parse(entry.key)?.resource ?? ''
        const stored = readableLease(entry)
        const lease = stored && (await this.#transitions.expire(resource, stored).catch(() => null))
        if (lease) swept.push(lease)
      }
      const isAll = taken.length === expired.length
      this.#sweepFrom = isAll ? `${last.key}\0` : (taken.at(-1)?.key ?? this.#sweepFrom)
      if (isAll && entries.length < SWEEP_PAGE) {
        this.#sweepFrom = this.#keys.all('e').key
        break
      }
    }
    return swept
  }

  /** Reads, with as many operations in one request as etcd allows. */
  async inBatches(operations: readonly EtcdOperation[]) {
    const batches: (readonly EtcdOperation[])[] = []
    for (let at = 0; at < operations.length; at += MAX_OPERATIONS)
      batches.push(operations.slice(at, at + MAX_OPERATIONS))
    const answers = await Promise.all(batches.map((batch) => this.#database.transact([], batch)))
    return answers.flatMap(({ results }) => results)
  }
}
