import type { Stop } from '../../base/abort.ts'
import { expectOptions, expectText } from '../../base/arguments.ts'
import { type Clock, expectClock, systemClock } from '../../base/clock.ts'
import type { LeaseError } from '../../base/errors.ts'
import type { LeaseRecord } from '../../base/records.ts'
import { withTrouble } from '../../clients/connection.ts'
import type { Answer, Ask, LeaseStore, ReleaseAsk, Released, Renewal } from '../../core/index.ts'
import { cursorOf, pageOf } from '../lease-page.ts'
import { isForgettable, type LeaseRow, liveRecords, newRow, shownRecords } from '../lease-row.ts'
import type { Work } from '../local/calls.ts'
import { StoreCalls } from '../local/store-calls.ts'
import { Push } from './push.ts'
import { isWritten, type Reading, type Register, type Registers } from './registers.ts'
import { encode, type Intents, type IntentType } from './rows.ts'
import { Again, Change, type Decide, type Seen, settleRegister } from './settle.ts'
import { raiseFloor, readFloor } from './token-floor.ts'
import {
  idsIn,
  indexOf,
  isAhead,
  type Outcomes,
  outcomeOf,
  type Row,
  readableRow,
  tryOut,
} from './transitions.ts'
import { Turns } from './turns.ts'

/** What a register store is called, and how it uses its database. */
export interface RegisterStoreOptions {
  /** The `kind` of the store, such as `nats`. */
  readonly kind: string
  /** The name of the database in messages, such as `NATS`. */
  readonly backend: string
  /** For the store's own timers, so that a test can control them. The clock of leases is the database's. */
  readonly clock?: Clock
  /** How long `close` waits for requests that are under way, in milliseconds. Default 1 s. */
  readonly closeLimitMs?: number | undefined
  /** How many acquire requests may be in flight. Default: no limit. */
  readonly maxInFlight?: number | undefined
}

/**
 * A lease store on registers, for a backend that can compare and set. Each call reads, decides, and writes if nothing
 * has changed since; otherwise it starts again. That ends, because a write fails only if another write succeeded.
 *
 * @example
 * const store = registerStore(consulRegisters(client), { kind: 'consul', backend: 'Consul' })
 */
export function registerStore<R extends Register>(
  registers: Registers<R>,
  options: RegisterStoreOptions,
): LeaseStore {
  expectOptions(options, { kind: 1, backend: 1, clock: 1, closeLimitMs: 1, maxInFlight: 1 })
  const { kind, backend, clock = systemClock, closeLimitMs, maxInFlight } = options
  expectText('kind', kind)
  expectText('backend', backend)
  expectClock('clock', clock)
  const explain = (error: LeaseError) => withTrouble(error, registers.trouble?.())
  const calls = new StoreCalls({
    backend,
    clock,
    closeLimitMs,
    maxInFlight,
    release: releaseWork,
    explain: (error, resource) => explain(registers.explain(error, resource)),
  })
  const push = new Push(registers, calls, clock)
  const { listeners } = push
  const turns = new Turns(clock)
  const settle = <T>(resource: string, stop: Stop, decide: Decide<R, T>) =>
    settleRegister(registers, resource, { turns, clock, stop, decide })

  return {
    kind,
    supports: { queue: false, push: true, expiry: true, list: true, share: true },
    explain,
    get load() {
      return calls.load
    },

    acquire: (ask, call) =>
      calls.acquire(
        ask,
        async (stop) => {
          listeners.expect(ask)
          try {
            const answer = await settle(ask.resource, stop, (seen) => attempt(ask, seen, stop))
            if (answer.granted) push.granted(answer.lease)
            else listeners.refused(ask.id, false)
            return answer
          } catch (error) {
            listeners.failed(ask.id)
            throw error
          }
        },
        call,
      ),

    renew: ({ resource, id, ttl }, call) =>
      calls.renew(
        async (stop) => {
          const renewal = await settle<Renewal>(resource, stop, async (seen) => {
            if (!seen.row || !idsIn(seen.row.state).includes(id))
              return { ok: false, holders: await holdersOf(seen) }
            return change(seen.row, 'renew', { id, ttl })
          })
          if (renewal.ok) listeners.renewed(renewal.lease)
          return renewal
        },
        call,
        resource,
      ),

    release: (by, call) => calls.release(by, releaseWork(by), call),

    read: (resources, call) =>
      calls.run(async () => {
        const reading = await registers.read(resources)
        const rows = reading.registers.map((register) => register && readableRow(register))
        const now = rows.some((row) => row && hasLeases(row)) ? await reading.now() : 0
        return rows.map((row) => (row ? shownRecords(row.state, now) : []))
      }, call),

    list: (query, call) =>
      calls.run(async (stop) => {
        const { prefix = '', limit, after } = query
        const cursor = cursorOf(after)
        const isWithin = cursor.token < Infinity && cursor.resource.startsWith(prefix)
        const rest = isWithin ? readableRows(await registers.read([cursor.resource])) : []
        const page = await registers.list({ prefix, limit, after: cursor.resource }, stop.signal)
        const rows = [...rest, ...readableRows(page)]
        const now = rows.length > 0 ? await page.now() : 0
        const found = rows.flatMap(({ state }) => shownRecords(state, now))
        const { leases, next = page.next } = pageOf(found, query)
        return { leases, ...(next !== undefined && { next }) }
      }, call),

    sweep: ({ limit }, call) =>
      calls.run(async (stop) => {
        const swept: LeaseRecord[] = []
        try {
          await sweepInto(swept, limit, stop)
        } catch (error) {
          // The caller must get the leases that were ended, even if a part of the sweep failed.
          if (swept.length === 0) throw error
        }
        return swept
      }, call),

    watch: (on, { prefix = '' } = {}) => calls.run((stop) => push.watch(on, prefix, stop)),

    close,
    [Symbol.asyncDispose]: close,
  }

  async function close(): Promise<void> {
    await Promise.all([calls.close(), push.close()])
    registers.close()
  }

  function releaseWork(by: ReleaseAsk): Work<Released> {
    return (stop) => {
      if ('id' in by) listeners.forget(by.id)
      return settle<Released>(by.resource, stop, async (seen) => {
        const { row } = seen
        const isThere =
          row &&
          ('id' in by
            ? idsIn(row.state).includes(by.id)
            : row.state.leases.some(({ token }) => token === by.token))
        if (!isThere) return { ended: null, holders: await holdersOf(seen) }
        // It has ended, even if another write followed before its time could be read.
        return change(row, 'release', 'id' in by ? { id: by.id } : { token: by.token }, true)
      })
    }
  }

  async function attempt(ask: Ask, { row, now }: Seen<R>, stop: Stop): Promise<Answer | Change<R, Answer>> {
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
          await write(row, 'expire', { tokens: [] })
          return new Again(null)
        })
      }
    }
    if (row) return change(row, 'acquire', intent)
    const state = newRow(resource, await readFloor(registers))
    stop.throwIfAborted()
    return change({ resource, register: null, state }, 'acquire', intent)
  }

  function change<Type extends IntentType>(
    ...args: Parameters<typeof write<Type>>
  ): Change<R, Outcomes[Type]> {
    return new Change(() => write(...args))
  }

  async function write<Type extends IntentType>(
    { resource, register, state }: Before<R>,
    type: Type,
    intent: Intents[Type],
    /** Whether the outcome counts if its exact time is unknown. */
    evenIfOvertaken = false,
  ): Promise<Outcomes[Type] | Again<R>> {
    const text = encode(state, type, intent)
    const index = (now: number) => indexOf(tryOut(state, type, intent, now).after)
    const result = await registers.write(resource, text, register, index)
    if (!isWritten(result)) return new Again(result)
    if (result.isOvertaken && !evenIfOvertaken) return new Again(null)
    return outcomeOf(state, type, intent, result.register)
  }

  async function sweepInto(swept: LeaseRecord[], limit: number, stop: Stop): Promise<void> {
    for await (const page of registers.due(limit, stop.signal)) {
      const now = await page.now()
      stop.throwIfAborted()
      const rows = readableRows(page)
      let left = limit - swept.length
      const sweeps: Promise<readonly LeaseRecord[]>[] = []
      for (const row of rows) {
        const tokens = expiredIn(row, now).slice(0, left)
        if (tokens.length > 0) sweeps.push(endExpired(row, tokens))
        left -= tokens.length
      }
      const outcomes = await Promise.allSettled(sweeps)
      for (const outcome of outcomes) if (outcome.status === 'fulfilled') swept.push(...outcome.value)
      const failure = outcomes.find((outcome) => outcome.status === 'rejected')
      if (failure) throw failure.reason
      await remove(rows.filter(({ state }) => isForgettable(state, now)).slice(0, limit))
      if (swept.length >= limit) return
      stop.throwIfAborted()
    }
  }

  /** If the time of the write is unknown, they had expired before all the same. */
  async function endExpired(row: Row<R>, tokens: readonly number[]): Promise<readonly LeaseRecord[]> {
    const ended = await write(row, 'expire', { tokens }, true)
    return ended instanceof Again ? [] : ended
  }

  async function remove(rows: readonly Row<R>[]): Promise<void> {
    if (rows.length === 0) return
    await raiseFloor(registers, Math.max(...rows.map(({ state }) => state.token)))
    await Promise.all(rows.map(({ register }) => registers.remove(register)))
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

function hasLeases({ state }: Row): boolean {
  return state.leases.length > 0
}

function expiredIn({ state }: Row, now: number): number[] {
  const tokens = state.leases.map(({ token }) => token)
  return tryOut(state, 'expire', { tokens }, now).outcome.map(({ token }) => token)
}

function readableRows<R extends Register>({ registers }: Reading<R, R | null>): Row<R>[] {
  return registers.map((register) => register && readableRow(register)).filter((row) => row !== null)
}
