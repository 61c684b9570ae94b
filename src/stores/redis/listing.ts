import { LeaseError, type LeasePage, type LeaseRecord, type ListQuery } from '../../core/index.ts'
import type { Calls, Reply } from './calls.ts'
import { compareBytes, type Keys, liveLease, SHARDS, shardOf, unpack } from './layout.ts'

const TIDY_AT_MOST = 256

/** An entry of the index: the resource is to be looked at once `due` has come. */
interface Due {
  readonly shard: number
  readonly due: string
  readonly resource: string
}

/** What goes over all shards, by way of their indexes: reading, listing and sweeping. */
export class Listing {
  readonly #calls: Calls
  readonly #keys: Keys
  #tidied = Math.floor(Math.random() * SHARDS)

  constructor(calls: Calls, keys: Keys) {
    this.#calls = calls
    this.#keys = keys
  }

  async read(resources: readonly string[], signal?: AbortSignal): Promise<(LeaseRecord | null)[]> {
    const replies = await Promise.all(resources.map((resource) => this.#readOne(resource, signal)))
    return replies.map(liveLease)
  }

  async list({ prefix = '', limit, after = '' }: ListQuery, signal?: AbortSignal): Promise<LeasePage> {
    const perShard = 2 * Math.ceil(limit / SHARDS) + 6
    for (let last = after; ; ) {
      const from = compareBytes(last, prefix) < 0 ? `[${prefix}` : `(${last}`
      const { names, horizon } = await this.#names(from, prefix, perShard, signal)
      const leases = await this.#readSound(names, signal)
      const end = leases.length > limit ? leases[limit - 1]?.resource : horizon
      if (leases.length > 0 || end === undefined)
        return { leases: leases.slice(0, limit), ...(end !== undefined && { next: end }) }
      last = end
    }
  }

  async sweep(limit: number, signal?: AbortSignal): Promise<LeaseRecord[]> {
    const entries = (await Promise.all(shards().map((shard) => this.#due(shard, limit, signal)))).flat()
    const swept: LeaseRecord[] = []
    while (entries.length > 0 && swept.length < limit) {
      const looks = entries.splice(0, limit - swept.length).map((entry) => this.#look(entry, 'hand', signal))
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

  #readOne(resource: string, signal?: AbortSignal): Promise<Reply> {
    const shard = shardOf(resource)
    return this.#calls.call(shard, [this.#keys.row(shard, resource)], ['read'], signal)
  }

  /** A value that is no lease is told to who asks for that resource, and does not stop the others' list. */
  async #readSound(names: readonly string[], signal?: AbortSignal): Promise<LeaseRecord[]> {
    const read = names.map(async (name) => {
      try {
        return liveLease(await this.#readOne(name, signal))
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
  async #names(from: string, prefix: string, perShard: number, signal?: AbortSignal) {
    const ask = async (shard: number) => {
      const args = ['names', from, prefix, String(perShard)]
      const { value } = await this.#calls.call(shard, [this.#keys.index(shard)], args, signal)
      return (value as string[]).map((member) => member.slice('name:'.length))
    }
    const pages = await Promise.all(shards().map(ask))
    const ends = pages.filter((page) => page.length >= perShard).map((page) => page.at(-1) ?? '')
    const horizon = ends.sort(compareBytes)[0]
    const names = pages.flat().filter((name) => horizon === undefined || compareBytes(name, horizon) <= 0)
    return { names: names.sort(compareBytes), horizon }
  }

  async #due(shard: number, limit: number, signal?: AbortSignal): Promise<Due[]> {
    const { value } = await this.#calls.call(shard, [this.#keys.index(shard)], ['due', String(limit)], signal)
    return (value as string[]).flatMap((member) => {
      const [, due = '', resource = ''] = /^due:(\d+) (.*)$/s.exec(member) ?? []
      return { shard, due, resource }
    })
  }

  /** Brings a resource up to date; with `hand`, a lease that ran out is ended and handed over. */
  async #look({ shard, due, resource }: Due, hand: 'hand' | 'keep', signal?: AbortSignal) {
    const keys = [this.#keys.row(shard, resource), this.#keys.line(shard, resource), this.#keys.index(shard)]
    const { now, value } = await this.#calls.call(shard, keys, ['expire', due, hand], signal)
    return value === '' ? [] : [unpack(String(value), 'expired', now)]
  }
}

function shards(): number[] {
  return Array.from({ length: SHARDS }, (_, shard) => shard)
}

function isPassing(error: unknown): boolean {
  return !(error instanceof LeaseError) || error.code !== 'store-failed'
}
