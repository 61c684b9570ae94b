import type { Stop } from '../../base/abort.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import type { LeaseError } from '../../base/errors.ts'
import type { LeaseRecord } from '../../base/records.ts'
import { withTrouble } from '../../clients/connection.ts'
import type { Answer, Ask, LeaseStore, Released, Renewal } from '../../core/index.ts'
import { StoreCalls } from '../local/store-calls.ts'
import { Push } from './push.ts'
import type { Reading, Register, Registers, Written } from './registers.ts'
import {
  endText,
  grantText,
  type HeldRow,
  hasLease,
  INDEX_ENDED,
  isAhead,
  isHeldBy,
  isRemovable,
  liveRecord,
  type Row,
  readableRow,
  renewalText,
  rowOf,
  writtenRecord,
} from './row.ts'
import { raiseFloor, readFloor } from './token-floor.ts'

export interface RegisterStoreOptions {
  /** The `kind` of the store, such as `nats`. */
  readonly kind: string
  /** The name of the database in messages, such as `NATS`. */
  readonly backend: string
  /** For the store's own timers, so that a test can control them. The clock of leases is the database's. */
  readonly clock?: Clock
  /** How long `close` waits for requests that are under way, in milliseconds. Default 1 s. */
  readonly closeLimitMs?: number
  /** How many acquire requests may be in flight. Default: no limit. */
  readonly maxInFlight?: number
}

/**
 * A lease store on registers. Each call reads, decides, and writes if nothing has changed since; otherwise it starts
 * again. That ends, because a write fails only if another write succeeded.
 */
export function registerStore<R extends Register>(
  registers: Registers<R>,
  { kind, backend, clock = systemClock, closeLimitMs, maxInFlight }: RegisterStoreOptions,
): LeaseStore {
  const explain = (error: LeaseError) => withTrouble(error, registers.trouble?.())
  const calls = new StoreCalls({
    backend,
    clock,
    closeLimitMs,
    maxInFlight,
    explain: (error, resource) => explain(registers.explain(error, resource)),
  })
  const push = new Push(registers, calls, clock)
  const { listeners } = push

  return {
    kind,
    supports: { queue: false, push: true, expiry: true, list: true, share: false },
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
            const answer = await untilSettled(() => attempt(ask, stop))
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
      calls.run(
        (stop) =>
          untilSettled(async (): Promise<Renewal | null> => {
            const { row, now } = await look(resource, stop)
            if (!isHeldBy(row, id)) return { ok: false, holders: await holdersOf(row, now) }
            const written = await extend(row, ttl)
            if (!written) return null
            const lease = writtenRecord(rowOf(written.register))
            if (!lease) return { ok: false, holders: [] }
            listeners.renewed(lease)
            return { ok: true, lease }
          }),
        call,
        resource,
      ),

    release: (by, call) =>
      calls.release(
        by,
        async (stop) => {
          if ('id' in by) listeners.forget(by.id)
          return untilSettled(async (): Promise<Released | null> => {
            const { row, now } = await look(by.resource, stop)
            const isMeant = hasLease(row) && ('id' in by ? row.lease.id === by.id : row.token === by.token)
            if (!isMeant) return { ended: null, holders: await holdersOf(row, now) }
            const ended = await end(row)
            return ended && { ended, holders: [] }
          })
        },
        call,
      ),

    read: (resources, call) =>
      calls.run(async () => {
        const reading = await registers.read(resources)
        const rows = reading.registers.map((register) => register && readableRow(register))
        const now = rows.some(hasLease) ? await reading.now() : 0
        return rows.map((row) => (row ? liveRecords(row, now) : []))
      }, call),

    list: ({ prefix = '', limit, after = '' }, call) =>
      calls.run(async (stop) => {
        const page = await registers.list({ prefix, limit, after }, stop.signal)
        const rows = readableRows(page)
        const now = rows.length > 0 ? await page.now() : 0
        const live = rows.map((row) => liveRecord(row, now)).filter((lease) => lease !== null)
        const leases = live.slice(0, limit)
        const next = live.length > limit ? leases.at(-1)?.resource : page.next
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

  async function look(resource: string, stop: Stop) {
    stop.throwIfAborted()
    const { registers: found, now } = await registers.read([resource])
    stop.throwIfAborted()
    const [register] = found
    return { row: register ? rowOf(register) : null, now }
  }

  /** `null`: another write came first, so try again. */
  async function attempt(ask: Ask, stop: Stop): Promise<Answer | null> {
    const { row, now } = await look(ask.resource, stop)
    if (isHeldBy(row, ask.id)) return granted(await extend(row, ask.ttl))
    if (hasLease(row) && !row.lapsed) {
      const time = await now()
      const holder = liveRecord(row, time)
      if (holder && holder.token !== ask.replace) {
        if (!isAhead(row, time))
          return { granted: false, holders: [holder], place: null, retryIn: holder.remaining }
        await extend(row, 0)
        return null
      }
    }
    const floor = row ? row.token : await readFloor(registers)
    stop.throwIfAborted()
    const index = { isListed: true, dueIn: ask.ttl }
    const text = grantText(ask, row, floor)
    return granted(await registers.write(ask.resource, text, row?.register ?? null, index))
  }

  async function extend(row: HeldRow<R>, ttl: number): Promise<Written<R> | null> {
    const index = { isListed: true, dueIn: ttl }
    const written = await registers.write(row.resource, renewalText(row, ttl), row.register, index)
    return written?.isOvertaken ? null : written
  }

  async function end(row: HeldRow<R>): Promise<LeaseRecord | null> {
    const written = await registers.write(row.resource, endText(row), row.register, INDEX_ENDED)
    return written && rowOf(written.register).ended
  }

  async function sweepInto(swept: LeaseRecord[], limit: number, stop: Stop): Promise<void> {
    for await (const page of registers.due(limit, stop.signal)) {
      const now = await page.now()
      stop.throwIfAborted()
      const rows = readableRows(page)
      const expired = rows.filter(hasLease).filter((row) => !liveRecord(row, now))
      const outcomes = await Promise.allSettled(expired.slice(0, limit - swept.length).map(end))
      for (const { value } of outcomes.filter((outcome) => outcome.status === 'fulfilled'))
        if (value?.state === 'expired') swept.push(value)
      const failure = outcomes.find((outcome) => outcome.status === 'rejected')
      if (failure) throw failure.reason
      await remove(rows.filter((row) => isRemovable(row, now)).slice(0, limit))
      if (swept.length >= limit) return
      stop.throwIfAborted()
    }
  }

  async function remove(rows: readonly Row<R>[]): Promise<void> {
    if (rows.length === 0) return
    await raiseFloor(registers, Math.max(...rows.map(({ token }) => token)))
    await Promise.all(rows.map(({ register }) => registers.remove(register)))
  }
}

async function untilSettled<T>(attempt: () => Promise<T | null>): Promise<T> {
  for (;;) {
    const outcome = await attempt()
    if (outcome !== null) return outcome
  }
}

/** `null` if the lease has ended meanwhile, so try again. */
function granted(written: Written<Register> | null): Answer | null {
  if (!written || written.isOvertaken) return null
  const row = rowOf(written.register)
  const lease = writtenRecord(row)
  return lease && { granted: true, lease, ...(row.ended && { replaced: row.ended }) }
}

async function holdersOf(row: Row | null, now: () => Promise<number>): Promise<LeaseRecord[]> {
  return hasLease(row) && !row.lapsed ? liveRecords(row, await now()) : []
}

function liveRecords(row: Row, now: number): LeaseRecord[] {
  const lease = liveRecord(row, now)
  return lease ? [lease] : []
}

function readableRows<R extends Register>({ registers }: Reading<R>): Row<R>[] {
  return registers.map(readableRow).filter((row) => row !== null)
}
