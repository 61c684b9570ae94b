import type { Stop } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import type { LeaseError } from '../../base/errors.ts'
import type { LeaseRecord } from '../../base/records.ts'
import { withTrouble } from '../../clients/connection.ts'
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
import { isForgettable, type LeaseRow, liveRecords, newRow } from '../lease-row.ts'
import type { Work } from '../local/calls.ts'
import { StoreCalls } from '../local/store-calls.ts'
import { Again, Change, compareAndSet, type Decide, type Seen } from './compare-and-set.ts'
import { ConflictQueue } from './conflict-queue.ts'
import type { CheckedOptions } from './options.ts'
import { Push } from './push.ts'
import { hasLeases, Queries, readableRows } from './queries.ts'
import { isWritten, type Register, type Registers } from './registers.ts'
import { encode, type Intents, type IntentType } from './rows.ts'
import { raiseFloor, readFloor } from './token-floor.ts'
import { idsIn, indexOf, isAhead, type Outcomes, outcomeOf, type Row, tryOut } from './transitions.ts'

/**
 * The port on registers. Each call reads, decides, and writes if nothing has changed since; otherwise it starts again.
 * That ends, because a write fails only if another write succeeded.
 */
export class RegisterStore<R extends Register> implements LeaseStore {
  readonly kind: string
  readonly supports = { queue: false, push: true, expiry: true, list: true, share: true }
  readonly #registers: Registers<R>
  readonly #clock: Clock
  readonly #calls: StoreCalls
  readonly #push: Push<R>
  readonly #queries: Queries<R>
  readonly #conflicts: ConflictQueue

  constructor(registers: Registers<R>, options: CheckedOptions) {
    const { kind, backend, clock, closeLimitMs, maxInFlight } = options
    this.kind = kind
    this.#registers = registers
    this.#clock = clock
    this.#calls = new StoreCalls({
      backend,
      clock,
      closeLimitMs,
      maxInFlight,
      release: (by) => this.#releaseWork(by),
      explain: (error, resource) => this.explain(registers.explain(error, resource)),
    })
    this.#push = new Push(registers, this.#calls, clock)
    this.#queries = new Queries(registers)
    this.#conflicts = new ConflictQueue(clock)
  }

  explain(error: LeaseError): LeaseError {
    return withTrouble(error, this.#registers.trouble?.())
  }

  get load(): StoreLoad {
    return this.#calls.load
  }

  acquire(ask: Ask, call?: CallOptions): Promise<Answer> {
    const { listeners } = this.#push
    return this.#calls.acquire(
      ask,
      async (stop) => {
        listeners.expect(ask)
        try {
          const answer = await this.#compareAndSet(ask.resource, stop, (seen) =>
            this.#attempt(ask, seen, stop),
          )
          if (answer.granted) this.#push.granted(answer.lease)
          else listeners.refused(ask.id, false)
          return answer
        } catch (error) {
          listeners.failed(ask.id)
          throw error
        }
      },
      call,
    )
  }

  renew({ resource, id, ttl }: RenewAsk, call?: CallOptions): Promise<Renewal> {
    return this.#calls.renew(
      async (stop) => {
        const renewal = await this.#compareAndSet<Renewal>(resource, stop, async (seen) => {
          if (!seen.row || !idsIn(seen.row.state).includes(id))
            return { ok: false, holders: await holdersOf(seen) }
          return this.#change(seen.row, 'renew', { id, ttl })
        })
        if (renewal.ok) this.#push.listeners.renewed(renewal.lease)
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
    return this.#calls.run((stop) => this.#queries.list(query, stop), call)
  }

  sweep({ limit }: { readonly limit: number }, call?: CallOptions): Promise<LeaseRecord[]> {
    return this.#calls.run(async (stop) => {
      const swept: LeaseRecord[] = []
      try {
        await this.#sweepInto(swept, limit, stop)
      } catch (error) {
        // The caller must get the leases that were ended, even if a part of the sweep failed.
        if (swept.length === 0) throw error
      }
      return swept
    }, call)
  }

  watch(on: (event: StoreEvent) => void, { prefix = '' } = {}): Promise<AsyncDisposable> {
    return this.#calls.run((stop) => this.#push.watch(on, prefix, stop))
  }

  async close(): Promise<void> {
    await Promise.all([this.#calls.close(), this.#push.close()])
    this.#registers.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #compareAndSet<T>(resource: string, stop: Stop, decide: Decide<R, T>): Promise<T> {
    return compareAndSet(this.#registers, resource, {
      conflicts: this.#conflicts,
      clock: this.#clock,
      stop,
      decide,
    })
  }

  #releaseWork(by: ReleaseAsk): Work<Released> {
    return (stop) => {
      if ('id' in by) this.#push.listeners.forget(by.id)
      return this.#compareAndSet<Released>(by.resource, stop, async (seen) => {
        const { row } = seen
        const isThere =
          row &&
          ('id' in by
            ? idsIn(row.state).includes(by.id)
            : row.state.leases.some(({ token }) => token === by.token))
        if (!isThere) return { ended: null, holders: await holdersOf(seen) }
        // It has ended, even if another write followed before its time could be read.
        return this.#change(row, 'release', 'id' in by ? { id: by.id } : { token: by.token }, true)
      })
    }
  }

  async #attempt(ask: Ask, { row, now }: Seen<R>, stop: Stop): Promise<Answer | Change<R, Answer>> {
    const { resource, id, owner, ttl, metadata, share, atLeast, lockDelay, replace } = ask
    const intent = { id, owner, ttl, metadata, share, atLeast, lockDelay, replace }
    if (row && mayBeRefused(row.state, intent)) {
      const time = await now()
      stop.throwIfAborted()
      const { outcome } = tryOut(row.state, 'acquire', intent, time)
      if (!outcome.granted) {
        if (!isAhead(row, time)) return outcome
        // Stated by the current clock, no lease ends later than it was granted for.
        return new Change<R, Answer>(async () => {
          await this.#write(row, 'expire', { tokens: [] })
          return new Again(null)
        })
      }
    }
    if (row) return this.#change(row, 'acquire', intent)
    const state = newRow(resource, await readFloor(this.#registers))
    stop.throwIfAborted()
    return this.#change({ resource, register: null, state }, 'acquire', intent)
  }

  #change<Type extends IntentType>(
    before: Before<R>,
    type: Type,
    intent: Intents[Type],
    evenIfOvertaken = false,
  ): Change<R, Outcomes[Type]> {
    return new Change(() => this.#write(before, type, intent, evenIfOvertaken))
  }

  async #write<Type extends IntentType>(
    { resource, register, state }: Before<R>,
    type: Type,
    intent: Intents[Type],
    /** Whether the outcome counts if its exact time is unknown. */
    evenIfOvertaken = false,
  ): Promise<Outcomes[Type] | Again<R>> {
    const text = encode(state, type, intent)
    const index = (now: number) => indexOf(tryOut(state, type, intent, now).after)
    const result = await this.#registers.write(resource, text, register, index)
    if (!isWritten(result)) return new Again(result)
    if (result.isOvertaken && !evenIfOvertaken) return new Again(null)
    return outcomeOf(state, type, intent, result.register)
  }

  async #sweepInto(swept: LeaseRecord[], limit: number, stop: Stop): Promise<void> {
    for await (const page of this.#registers.due(limit, stop.signal)) {
      const now = await page.now()
      stop.throwIfAborted()
      const rows = readableRows(page)
      let left = limit - swept.length
      const sweeps: Promise<readonly LeaseRecord[]>[] = []
      for (const row of rows) {
        const tokens = expiredIn(row, now).slice(0, left)
        if (tokens.length > 0) sweeps.push(this.#endExpired(row, tokens))
        left -= tokens.length
      }
      const outcomes = await Promise.allSettled(sweeps)
      for (const outcome of outcomes) if (outcome.status === 'fulfilled') swept.push(...outcome.value)
      const failure = outcomes.find((outcome) => outcome.status === 'rejected')
      if (failure) throw failure.reason
      await this.#remove(rows.filter(({ state }) => isForgettable(state, now)).slice(0, limit))
      if (swept.length >= limit) return
      stop.throwIfAborted()
    }
  }

  /** If the time of the write is unknown, they had expired before all the same. */
  async #endExpired(row: Row<R>, tokens: readonly number[]): Promise<readonly LeaseRecord[]> {
    const ended = await this.#write(row, 'expire', { tokens }, true)
    return ended instanceof Again ? [] : ended
  }

  async #remove(rows: readonly Row<R>[]): Promise<void> {
    if (rows.length === 0) return
    await raiseFloor(this.#registers, Math.max(...rows.map(({ state }) => state.token)))
    await Promise.all(rows.map(({ register }) => this.#registers.remove(register)))
  }
}

/** What a write is based on. */
type Before<R extends Register> = Pick<Row<R>, 'resource' | 'state'> & { readonly register: R | null }

/** As far as can be told without the time, which may take requests of its own. */
function mayBeRefused({ leases }: LeaseRow, { id, replace }: Intents['acquire']): boolean {
  return replace !== 'any' && leases.some((lease) => lease.id !== id || lease.keptUntil !== undefined)
}

async function holdersOf({ row, now }: Seen<Register>): Promise<LeaseRecord[]> {
  return row && hasLeases(row) ? liveRecords(row.state, await now()) : []
}

function expiredIn({ state }: Row, now: number): number[] {
  const tokens = state.leases.map(({ token }) => token)
  return tryOut(state, 'expire', { tokens }, now).outcome.map(({ token }) => token)
}
