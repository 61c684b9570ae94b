import type { Answer, Ask, LeaseRecord, LeaseStore, Renewal } from '../../core/index.ts'
import { Calls } from './calls.ts'
import { floorToken, raiseFloor } from './floor.ts'
import type { Entry, Registers, Written } from './port.ts'
import { type Hearing, Push } from './push.ts'
import {
  ENDED,
  endText,
  grantText,
  type HeldRow,
  isAhead,
  isForgettable,
  liveRecord,
  type Row,
  readableRow,
  renewalText,
  rowOf,
} from './row.ts'

interface Found<E, R = Row> {
  readonly entry: E
  readonly row: R
}

/**
 * A lease store on registers. Each call reads, decides, and writes if nothing has changed since; else it begins
 * again. That ends, because a write is refused only where another one got through.
 */
export function registerStore<E extends Entry>(kind: string, registers: Registers<E>): LeaseStore {
  const calls = new Calls(kind, (error) => registers.explain(error))
  const push = new Push(registers)

  return {
    kind,
    supports: { queue: false, push: true, expiry: true, list: true },

    acquire: (ask, call) =>
      calls.run(async (stop) => {
        const hearing = push.expect(ask)
        try {
          return await untilSettled(() => attempt(ask, hearing, stop))
        } finally {
          hearing.settle()
        }
      }, call?.signal),

    renew: ({ resource, id, ttl }, call) =>
      calls.run(
        (stop) =>
          untilSettled(async (): Promise<Renewal | null> => {
            const { found, now } = await look(resource, stop)
            if (!isHeldBy(found, id)) return { ok: false, holder: await holderOf(found, now) }
            const written = await extend(found, ttl)
            if (!written) return null
            const lease = leaseOf(written)
            return lease ? { ok: true, lease } : { ok: false, holder: null }
          }),
        call?.signal,
      ),

    release: (by, call) =>
      calls.run(async (stop) => {
        if ('id' in by) push.forget(by.resource, by.id)
        return untilSettled(async () => {
          const { found, now } = await look(by.resource, stop)
          const isMeant =
            hasLease(found) && ('id' in by ? found.row.lease.id === by.id : found.row.token === by.token)
          if (!isMeant) return { ended: null, holder: await holderOf(found, now) }
          const ended = await end(found)
          return ended && { ended, holder: null }
        })
      }, call?.signal),

    read: (resources, call) =>
      calls.run(async () => {
        const { entries, now } = await registers.read(resources)
        const rows = entries.map((entry) => entry && readableRow(entry))
        const time = rows.some((row) => row?.lease) ? await now() : 0
        return rows.map((row) => row && liveRecord(row, time))
      }, call?.signal),

    list: ({ prefix = '', limit, after = '' }, call) =>
      calls.run(async (stop) => {
        const { entries, now, next } = await registers.list({ prefix, limit, after }, stop)
        const time = entries.length > 0 ? await now() : 0
        const live = readable(entries)
          .map(({ row }) => liveRecord(row, time))
          .filter((lease) => lease !== null)
        const leases = live.slice(0, limit)
        const from = live.length > limit ? leases.at(-1)?.resource : next
        return { leases, ...(from !== undefined && { next: from }) }
      }, call?.signal),

    sweep: ({ limit }, call) =>
      calls.run(async (stop) => {
        const swept: LeaseRecord[] = []
        try {
          await sweepInto(swept, limit, stop)
        } catch (error) {
          // What was ended must be handed on, even if a part failed.
          if (swept.length === 0) throw error
        }
        return swept
      }, call?.signal),

    watch: (on, { prefix = '' } = {}) => calls.run((stop) => push.watch(on, prefix, stop)),

    async close() {
      calls.close()
      push.close()
      registers.close()
    },
  }

  async function look(resource: string, stop: AbortSignal) {
    stop.throwIfAborted()
    const { entries, now } = await registers.read([resource])
    stop.throwIfAborted()
    const [entry] = entries
    return { found: entry ? { entry, row: rowOf(entry) } : null, now }
  }

  /** `null`: another was first, ask again. */
  async function attempt(ask: Ask, hearing: Hearing, stop: AbortSignal): Promise<Answer | null> {
    const { found, now } = await look(ask.resource, stop)
    if (isHeldBy(found, ask.id)) return granted(await extend(found, ask.ttl), hearing)
    if (hasLease(found) && !found.row.lapsed) {
      const time = await now()
      const holder = liveRecord(found.row, time)
      if (holder && holder.token !== ask.replace) {
        if (!isAhead(found.row, time))
          return { granted: false, holder, place: null, retryIn: holder.remaining }
        await extend(found, 0)
        return null
      }
    }
    const floor = found ? found.row.token : await floorToken(registers)
    stop.throwIfAborted()
    const text = grantText(ask, found?.row ?? null, floor)
    const index = { listed: true, dueIn: ask.ttl }
    return granted(await registers.write(ask.resource, text, found?.entry ?? null, index), hearing)
  }

  function granted(written: Written<E> | null, hearing: Hearing): Answer | null {
    if (!written || written.overtaken) return null
    const lease = leaseOf(written)
    if (!lease) return null
    hearing.granted(written.entry)
    const { ended } = rowOf(written.entry)
    return { granted: true, lease, ...(ended && { replaced: ended }) }
  }

  async function extend({ entry, row }: Found<E, HeldRow>, ttl: number): Promise<Written<E> | null> {
    const index = { listed: true, dueIn: ttl }
    const written = await registers.write(row.resource, renewalText(row, ttl), entry, index)
    return written?.overtaken ? null : written
  }

  async function end({ entry, row }: Found<E, HeldRow>): Promise<LeaseRecord | null> {
    const written = await registers.write(row.resource, endText(row), entry, ENDED)
    return written && rowOf(written.entry).ended
  }

  async function sweepInto(swept: LeaseRecord[], limit: number, stop: AbortSignal): Promise<void> {
    for await (const { entries, now } of registers.due(limit, stop)) {
      const time = await now()
      stop.throwIfAborted()
      const found = readable(entries)
      const expired = found.filter(hasLease).filter(({ row }) => !liveRecord(row, time))
      const outcomes = await Promise.allSettled(expired.slice(0, limit - swept.length).map(end))
      for (const { value } of outcomes.filter((outcome) => outcome.status === 'fulfilled'))
        if (value?.state === 'expired') swept.push(value)
      const failure = outcomes.find((outcome) => outcome.status === 'rejected')
      if (failure) throw failure.reason
      await forget(found.filter(({ row }) => isForgettable(row, time)).slice(0, limit))
      if (swept.length >= limit) return
    }
  }

  async function forget(old: readonly Found<E>[]): Promise<void> {
    if (old.length === 0) return
    await raiseFloor(registers, Math.max(...old.map(({ row }) => row.token)))
    await Promise.all(old.map(({ entry }) => registers.forget(entry)))
  }
}

async function untilSettled<T>(attempt: () => Promise<T | null>): Promise<T> {
  for (;;) {
    const outcome = await attempt()
    if (outcome !== null) return outcome
  }
}

async function holderOf(found: Found<Entry> | null, now: () => Promise<number>): Promise<LeaseRecord | null> {
  return found?.row.lease && !found.row.lapsed ? liveRecord(found.row, await now()) : null
}

function hasLease<E>(found: Found<E> | null): found is Found<E, HeldRow> {
  return found?.row.lease != null
}

/** As far as can be told without the time: a renewal that comes too late shows it by its own. */
function isHeldBy<E>(found: Found<E> | null, id: string): found is Found<E, HeldRow> {
  return hasLease(found) && found.row.lease.id === id && !found.row.lapsed
}

/** The lease that a write has made, as it was then. */
function leaseOf({ entry }: Written<Entry>): LeaseRecord | null {
  const row = rowOf(entry)
  return liveRecord(row, row.writtenAt)
}

function readable<E extends Entry>(entries: readonly E[]): Found<E>[] {
  return entries.flatMap((entry) => {
    const row = readableRow(entry)
    return row ? [{ entry, row }] : []
  })
}
