import type { Stop } from '../../base/abort.ts'
import { systemClock } from '../../base/clock.ts'
import type { LeaseRecord } from '../../base/records.ts'
import { compareUtf8 } from '../../base/utf8-order.ts'
import { redisError } from '../../clients/redis-errors.ts'
import { malformedAnswer } from '../../clients/store-error.ts'
import type { LeasePage, ListQuery, WaitingQuery, WaitingQueue } from '../../core/index.ts'
import { cursorOf, nextAfter } from '../lease-page.ts'
import type { Batches, Reply } from './batches.ts'
import { ALL_SHARDS, indexOf, Keys, SHARDS } from './names.ts'
import { MAX_TIDIED } from './options.ts'
import { unpack, unpackShown, unpackWaiter } from './rows.ts'

/** An entry of the index: the row of this resource is to be checked at `due`. */
interface Due {
  readonly due: string
  readonly resource: string
}

/** Reads, lists and sweeps over all shards, by their indexes. */
export class Queries {
  readonly #batches: Batches
  readonly #prefix: string
  #nextTidied = Math.floor(systemClock.random() * SHARDS)

  constructor(batches: Batches, prefix: string) {
    this.#batches = batches
    this.#prefix = prefix
  }

  read(resources: readonly string[], stop: Stop): Promise<LeaseRecord[][]> {
    return Promise.all(resources.map((resource) => this.#readOne(resource, stop)))
  }

  waiting({ resources, limit }: WaitingQuery, stop: Stop): Promise<WaitingQueue[]> {
    return Promise.all(resources.map((resource) => this.#waitingFor(resource, limit, stop)))
  }

  async list({ prefix = '', limit, after }: ListQuery, stop: Stop): Promise<LeasePage> {
    const perShard = 2 * Math.ceil(limit / SHARDS) + 6
    const cursor = cursorOf(after)
    const isAfter = ({ resource, token }: LeaseRecord) => resource !== cursor.resource || token > cursor.token
    let from = `${cursor.token === Infinity ? '(' : '['}${cursor.resource}`
    if (compareUtf8(cursor.resource, prefix) < 0) from = `[${prefix}`
    for (;;) {
      const { names, horizon } = await this.#names(from, prefix, perShard, stop)
      const leases = (await this.#readValid(names, stop)).filter(isAfter)
      const page = leases.slice(0, limit)
      const last = leases.length > limit ? page.at(-1) : undefined
      const next = last ? nextAfter(last) : horizon
      if (leases.length > 0 || next === undefined)
        return { leases: page, ...(next !== undefined && { next }) }
      stop.throwIfAborted()
      from = `(${next}`
    }
  }

  async sweep(limit: number, stop: Stop): Promise<LeaseRecord[]> {
    const found = await Promise.all(ALL_SHARDS.map((shard) => this.#due(shard, limit, stop)))
    const entries = found.flat().sort((a, b) => Number(a.due) - Number(b.due))
    const swept: LeaseRecord[] = []
    while (entries.length > 0 && swept.length < limit) {
      stop.throwIfAborted()
      const left = limit - swept.length
      const checked = entries.splice(0, left)
      // Leases above the limit stay due.
      const limitEach = Math.floor(left / checked.length)
      const outcomes = await Promise.allSettled(checked.map((entry) => this.#expire(entry, limitEach, stop)))
      for (const outcome of outcomes) if (outcome.status === 'fulfilled') swept.push(...outcome.value)
      const failure = outcomes.find((outcome) => outcome.status === 'rejected')
      // What was swept must be returned: no other caller will get it.
      if (failure && swept.length === 0 && !isMalformed(failure.reason)) throw failure.reason
    }
    return swept
  }

  /** Deletes rows of one shard that nobody uses any more, of another shard each time. */
  async tidy(stop: Stop): Promise<void> {
    const entries = await this.#due(this.#nextTidied++ % SHARDS, MAX_TIDIED, stop)
    await Promise.allSettled(entries.map((entry) => this.#expire(entry, 0, stop)))
  }

  async #readOne(resource: string, stop: Stop): Promise<LeaseRecord[]> {
    const { shard, row, shared } = new Keys(this.#prefix, resource)
    const { now, value } = await this.#batches.run({ shard, keys: [row, shared], args: ['read'] }, stop)
    return unpackShown(String(value).split('\n'), now)
  }

  async #waitingFor(resource: string, limit: number, stop: Stop): Promise<WaitingQueue> {
    const { shard, queue } = new Keys(this.#prefix, resource)
    const args = ['waiting', String(limit)]
    const { value } = await this.#batches.run({ shard, keys: [queue], args }, stop)
    const [count, ...members] = listOf(value)
    const waiters = members.map(unpackWaiter).filter((waiter) => waiter !== null)
    return { count: Number(count), first: waiters.map((waiter, place) => ({ ...waiter, place })) }
  }

  /** Skips a value that is not a lease. A caller that asks for that resource gets the error. */
  async #readValid(names: readonly string[], stop: Stop): Promise<LeaseRecord[]> {
    const read = names.map(async (name) => {
      try {
        return await this.#readOne(name, stop)
      } catch (error) {
        if (!isMalformed(error)) throw error
        return []
      }
    })
    return (await Promise.all(read)).flat()
  }

  /**
   * The names that follow `from`, in order. A shard that returned as many as it was asked for may have more. So the
   * names are complete only up to the horizon, the smallest of the last names of such shards.
   */
  async #names(from: string, prefix: string, perShard: number, stop: Stop) {
    const args = ['names', from, prefix, String(perShard)]
    const namesIn = async (shard: number) => {
      const { value } = await this.#batches.run({ shard, keys: [indexOf(this.#prefix, shard)], args }, stop)
      return listOf(value).map((member) => String(member).slice('name:'.length))
    }
    const pages = await Promise.all(ALL_SHARDS.map(namesIn))
    const ends = pages.filter((page) => page.length >= perShard).map((page) => page.at(-1) ?? '')
    const horizon = ends.sort(compareUtf8)[0]
    const names = pages.flat().filter((name) => horizon === undefined || compareUtf8(name, horizon) <= 0)
    return { names: names.sort(compareUtf8), horizon }
  }

  async #due(shard: number, limit: number, stop: Stop): Promise<Due[]> {
    const keys = [indexOf(this.#prefix, shard)]
    const { value } = await this.#batches.run({ shard, keys, args: ['due', String(limit)] }, stop)
    return listOf(value).map((member) => {
      const [, due = '', resource = ''] = /^due:(\d+) (.*)$/s.exec(String(member)) ?? []
      return { due, resource }
    })
  }

  /** Brings a row up to date. Ends at most `limit` expired leases, and returns them. */
  async #expire({ due, resource }: Due, limit: number, stop: Stop): Promise<LeaseRecord[]> {
    const { shard, all: keys } = new Keys(this.#prefix, resource)
    const args = ['expire', due, String(limit)]
    const { now, value } = await this.#batches.run({ shard, keys, args }, stop)
    return value === ''
      ? []
      : String(value)
          .split('\n')
          .map((lease) => unpack(lease, 'expired', now))
  }
}

function listOf(value: Reply['value']): readonly unknown[] {
  if (typeof value === 'string') throw malformedAnswer('Redis', value)
  return value
}

/** The value of this resource is not a lease. That does not affect other resources. */
function isMalformed(error: unknown): boolean {
  return redisError(error).code === 'store-failed'
}
