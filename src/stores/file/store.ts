import type { Stop } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import { LeaseError } from '../../base/errors.ts'
import type { LeaseRecord } from '../../base/records.ts'
import { fileError } from '../../clients/file-errors.ts'
import type {
  Answer,
  Ask,
  CallOptions,
  LeasePage,
  LeaseStore,
  ListQuery,
  ReleaseAsk,
  Released,
  RenewAsk,
  Renewal,
  StoreEvent,
  StoreLoad,
} from '../../core/index.ts'
import { ask, Effects, expire, isForgettable, type LeaseRow, release, renew } from '../lease-row.ts'
import type { Work } from '../local/calls.ts'
import { LocalListeners } from '../local/listeners.ts'
import { checkedSoon, withProcess } from '../local/process-node.ts'
import { StoreCalls } from '../local/store-calls.ts'
import type { LeaseDirectory } from './lease-directory.ts'
import { keyOf } from './names.ts'
import {
  expectTtl,
  LEFTOVER_AGE_MS,
  MAX_IN_FLIGHT,
  MAX_TRIES,
  TIDY_EVERY_MS,
  TIDY_LIMIT,
  TIDY_ONE_IN,
} from './options.ts'
import { Push } from './push.ts'
import { Queries } from './queries.ts'

/** A transition of `lease-row.ts`. */
type Step<T> = (row: LeaseRow, now: number, effects: Effects) => T

/** The port on a directory. Each change is decided on the row that was read, and counts only if it can be saved. */
export class FileStore implements LeaseStore {
  readonly kind = 'file'
  readonly supports = { queue: false, push: true, expiry: true, list: true, share: true }
  readonly #directory: LeaseDirectory
  readonly #clock: Clock
  readonly #calls: StoreCalls
  readonly #listeners: LocalListeners
  readonly #push: Push
  readonly #queries: Queries
  #tidying: Promise<void> | undefined
  #tidyAt = 0

  constructor(directory: LeaseDirectory, clock: Clock) {
    this.#directory = directory
    this.#clock = clock
    this.#calls = new StoreCalls({
      backend: 'file',
      explain: (error, resource) => fileError(error, 'the lease directory', resource),
      clock,
      maxInFlight: MAX_IN_FLIGHT,
      release: (by) => this.#releaseWork(by),
    })
    this.#listeners = new LocalListeners(clock)
    this.#push = new Push(directory, clock, this.#listeners)
    this.#queries = new Queries(directory, clock)
  }

  get load(): StoreLoad {
    return this.#calls.load
  }

  acquire(request: Ask, call?: CallOptions): Promise<Answer> {
    return this.#calls.acquire(
      request,
      async (stop) => {
        const { resource, ttl } = request
        expectTtl(ttl)
        const rowAsk = withProcess(request)
        const answer = await this.#change<Answer>(stop, resource, (row, now, effects) =>
          checkedSoon(row, ask(row, rowAsk, null, now, effects)),
        )
        // By key, because the names of changed files contain keys.
        this.#listeners.answered({ ...request, resource: keyOf(resource) }, answer)
        if (answer.granted && !stop.reason) this.#push.start()
        this.#tidyNowAndThen()
        return answer
      },
      call,
    )
  }

  renew(request: RenewAsk, call?: CallOptions): Promise<Renewal> {
    const { resource, ttl } = request
    return this.#calls.renew(
      async (stop) => {
        expectTtl(ttl)
        const rowAsk = withProcess(request)
        const step: Step<Renewal> = (row, now, effects) => renew(row, rowAsk, now, effects)
        const renewal = await this.#change(stop, resource, step, { ok: false, holders: [] })
        if (renewal.ok) this.#listeners.renewed(renewal.lease)
        return renewal
      },
      call,
      resource,
    )
  }

  release(by: ReleaseAsk, call?: CallOptions): Promise<Released> {
    return this.#calls.release(by, this.#releaseWork(by), call)
  }

  read(resources: readonly string[], call?: CallOptions): Promise<LeaseRecord[][]> {
    return this.#calls.run(() => this.#queries.read(resources), call)
  }

  list(query: ListQuery, call?: CallOptions): Promise<LeasePage> {
    return this.#calls.scan(() => this.#queries.list(query), call)
  }

  sweep({ limit }: { readonly limit: number }, call?: CallOptions): Promise<LeaseRecord[]> {
    return this.#calls.scan(async (stop) => {
      const swept: LeaseRecord[] = []
      for await (const loaded of this.#queries.loadAll(await this.#directory.keys())) {
        if (swept.length >= limit || stop.reason) break
        const effects = new Effects()
        const expired = expire(loaded.row, this.#clock.now(), effects, limit - swept.length)
        if ((await this.#directory.save(loaded, effects)) && expired.length > 0) swept.push(...expired)
        else if (isForgettable(loaded.row, this.#clock.now())) await this.#directory.forget(loaded)
      }
      await this.#removeLeftovers()
      for (const { id, token } of swept) this.#listeners.ended(id, token)
      return swept
    }, call)
  }

  watch(on: (event: StoreEvent) => void, { prefix }: { prefix?: string } = {}): Promise<AsyncDisposable> {
    return this.#calls.scan((stop) => this.#push.watch(on, prefix, stop))
  }

  async close(): Promise<void> {
    const closing = this.#calls.close()
    this.#push.close()
    this.#listeners.clear()
    await closing
    await this.#tidying
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #releaseWork(by: ReleaseAsk): Work<Released> {
    return (stop) => {
      if ('id' in by) this.#listeners.forget(by.id)
      const step: Step<Released> = (row, now, effects) => release(row, by, now, effects)
      return this.#change(stop, by.resource, step, { ended: null, holders: [] })
    }
  }

  /** Creates the resource if there is none, unless there is an answer for that case. */
  async #change<T>(stop: Stop, resource: string, step: Step<T>, ifAbsent?: T): Promise<T> {
    const directory = this.#directory
    const key = keyOf(resource)
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      stop.throwIfAborted()
      const present = await directory.load(key, this.#clock.now(), resource)
      if (!present && ifAbsent !== undefined) return ifAbsent
      const loaded = present ?? (await directory.create(resource, this.#clock.now()))
      if (!loaded) continue
      const effects = new Effects()
      const answer = step(loaded.row, this.#clock.now(), effects)
      if (!(await directory.save(loaded, effects))) continue
      this.#listeners.carryOut(effects)
      return answer
    }
    const problem = `${resource} could not be changed in ${MAX_TRIES} tries; is a foreign file at ${directory.pathOf(key)}?`
    throw new LeaseError('store-unavailable', problem, { resource })
  }

  #tidyNowAndThen(): void {
    const now = this.#clock.monotonic()
    if (now < this.#tidyAt || this.#clock.random() * TIDY_ONE_IN >= 1) return
    this.#tidyAt = now + TIDY_EVERY_MS
    // If it fails, the next one continues.
    this.#tidying = this.#tidy().catch(() => {})
  }

  /** Deletes what nobody needs, but ends no lease: an expired lease is returned by a sweep or by the next grant. */
  async #tidy(): Promise<void> {
    const keys = await this.#directory.keys()
    const start = Math.floor(this.#clock.random() * keys.length)
    const some = [...keys.slice(start), ...keys.slice(0, start)].slice(0, TIDY_LIMIT)
    for await (const loaded of this.#queries.loadAll(some))
      if (isForgettable(loaded.row, this.#clock.now())) await this.#directory.forget(loaded)
    await this.#removeLeftovers()
  }

  #removeLeftovers(): Promise<void> {
    return this.#directory.removeLeftovers(
      (changedAt) => Math.abs(this.#clock.now() - changedAt) > LEFTOVER_AGE_MS,
    )
  }
}
