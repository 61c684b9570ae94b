import {
  type CallOptions,
  LeaseError,
  type LeasePage,
  type LeaseRecord,
  type ListQuery,
} from '../../core/index.ts'
import type { Calls } from './calls.ts'
import { compareBytes, indexOf, Keys, SHARDS, unpack, unpackLive, watchedOf } from './layout.ts'
import { WATCHED_MS } from './watchers.ts'

const TIDY_AT_MOST = 256

/** An entry of the index: the resource is to be looked at once `due` has come. */
interface Due {
  readonly due: string
  readonly resource: string
}

/** What goes over all shards: reading, listing and sweeping by way of their indexes, and the start of a watch. */
export class Listing {
  readonly #calls: Calls
  readonly #prefix: string
  #tidied = Math.floor(Math.random() * SHARDS)

  constructor(calls: Calls, prefix: string) {
    this.#calls = calls
    this.#prefix = prefix
  }

  async read(resources: readonly string[], call?: CallOptions): Promise<(LeaseRecord | null)[]> {
    return Promise.all(resources.map((resource) => this.#readOne(resource, call)))
  }

  async list({ prefix = '', limit, after = '' }: ListQuery, call?: CallOptions): Promise<LeasePage> {
    const perShard = 2 * Math.ceil(limit / SHARDS) + 6
    for (let last = after; ; ) {
      const from = compareBytes(last, prefix) < 0 ? `[${prefix}` : `(${last}`
      const { names, horizon } = await this.#names(from, prefix, perShard, call)
      const leases = await this.#readSound(names, call)
      const end = leases.length > limit ? leases[limit - 1]?.resource : horizon
      if (leases.length > 0 || end === undefined)
        return { leases: leases.slice(0, limit), ...(end !== undefined && { next: end }) }
      last = end
    }
  }

  async sweep(limit: number, call?: CallOptions): Promise<LeaseRecord[]> {
    const found = await Promise.all(shards().map((shard) => this.#due(shard, limit, call)))
    const entries = found.flat().sort((a, b) => Number(a.due) - Number(b.due))
    const swept: LeaseRecord[] = []
    while (entries.length > 0 && swept.length < limit) {
      const looks = entries.splice(0, limit - swept.length).map((entry) => this.#look(entry, 'hand', call))
      const outcomes = await Promise.allSettled(looks)
      for (const outcome of outcomes) if (outcome.status === 'fulfilled') swept.push(...outcome.value)
      const failure = outcomes.find((outcome) => outcome.status === 'rejected')
      // What was swept is handed over: no other caller will get it.
      if (failure && swept.length === 0 && isPassing(failure.reason)) throw failure.reason
    }
    return swept
  }

  /** Drops rows that nobody uses any more, of another shard each time. */
  async tidy(): Promise<void> {
    const entries = await this.#due(this.#tidied++ % SHARDS, TIDY_AT_MOST)
    await Promise.allSettled(entries.map((entry) => this.#look(entry, 'keep')))
  }

  /** Tells the script that somebody watches. False: some shard had not known, or had forgotten. */
  async announce(): Promise<boolean> {
    const tell = (shard: number) =>
      this.#calls.call(shard, [watchedOf(this.#prefix, shard)], ['watch', String(WATCHED_MS)])
    const replies = await Promise.all(shards().map(tell))
    return replies.every(({ value }) => value === 'known')
  }

  async #readOne(resource: string, call?: CallOptions): Promise<LeaseRecord | null> {
    const { shard, row } = new Keys(this.#prefix, resource)
    const { now, value } = await this.#calls.call(shard, [row], ['read'], call)
    return unpackLive(String(value), now)
  }

  /** A value that is no lease is told to who asks for that resource, and does not stop the others' list. */
  async #readSound(names: readonly string[], call?: CallOptions): Promise<LeaseRecord[]> {
    const read = names.map(async (name) => {
      try {
        return await this.#readOne(name, call)
      } catch (error) {
        if (isPassing(error)) throw error
        return null
      }
    })
    return (await Promise.all(read)).filter((lease) => lease !== null)
  }

  /**
   * The names that follow `from`, in order. A shard that gave as many as it was asked for may have more; up to the
   * first such shard's last name, the horizon, none is missing.
   */
  async #names(from: string, prefix: string, perShard: number, call?: CallOptions) {
    const ask = async (shard: number) => {
      const args = ['names', from, prefix, String(perShard)]
      const { value } = await this.#calls.call(shard, [indexOf(this.#prefix, shard)], args, call)
      return [...value].map((member) => String(member).slice('name:'.length))
    }
    const pages = await Promise.all(shards().map(ask))
    const ends = pages.filter((page) => page.length >= perShard).map((page) => page.at(-1) ?? '')
    const horizon = ends.sort(compareBytes)[0]
    const names = pages.flat().filter((name) => horizon === undefined || compareBytes(name, horizon) <= 0)
    return { names: names.sort(compareBytes), horizon }
  }

  async #due(shard: number, limit: number, call?: CallOptions): Promise<Due[]> {
    const { value } = await this.#calls.call(
      shard,
      [indexOf(this.#prefix, shard)],
      ['due', String(limit)],
      call,
    )
    return [...value].flatMap((member) => {
      const [, due = '', resource = ''] = /^due:(\d+) (.*)$/s.exec(String(member)) ?? []
      return { due, resource }
    })
  }

  /** Brings a resource up to date; with `hand`, a lease that ran out is ended and handed over. */
  async #look({ due, resource }: Due, hand: 'hand' | 'keep', call?: CallOptions): Promise<LeaseRecord[]> {
    const { shard, row, watched, line, index } = new Keys(this.#prefix, resource)
    const keys = [row, watched, line, index]
    const { now, value } = await this.#calls.call(shard, keys, ['expire', due, hand], call)
    const [, ended] = String(value).split('\n')
    return ended ? [unpack(ended, 'expired', now)] : []
  }
}

function shards(): number[] {
  return Array.from({ length: SHARDS }, (_, shard) => shard)
}

function isPassing(error: unknown): boolean {
  return !(error instanceof LeaseError) || error.code !== 'store-failed'
}
