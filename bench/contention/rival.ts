import { setTimeout as sleep } from 'node:timers/promises'
import { createLeases, type LeaseStore } from '../../src/core/index.ts'

export const WAITERS = 50
export const HOLD_MS = 1

/** One turn of one waiter. Times are milliseconds of the machine's monotonic clock, the same in all processes. */
export interface Hold {
  /** Where it stood in line; -1 where there is none. */
  readonly place: number
  readonly granted: number
  /** When it called for the release. */
  readonly released: number
}

/** One way of waiting in line, as one process has it. */
export interface Rival {
  /** Takes the resource, which is free. The function that it returns gives it up. */
  hold(): Promise<() => Promise<unknown>>
  /** Waits for its turn, holds for a moment. `onWaiting` is called when it stands in line. */
  takeTurn(onWaiting: () => void): Promise<Hold>
  /** Calls to the server so far; `null` where they are not counted. */
  readonly calls: number | null
  close(): Promise<unknown>
}

/** `member` of `members`: where the processes must know each other. */
export interface Membership {
  readonly url: string
  readonly member: number
  readonly members: number
}

/** What a module of rivals exports; `undefined` where the rival is not installed. */
export type OpenRival = (name: string, membership: Membership) => Promise<Rival | undefined>

/** Our own leases on a store. */
export function leaseRival(store: LeaseStore, calls: () => number, close: () => Promise<unknown>): Rival {
  const waiting = new Map<string, (place: number) => void>()
  const leases = createLeases(store, {
    onEvent: (event) => {
      // Not while it waits in this process, because too many requests are in flight.
      if (event.type === 'waiting' && event.reason !== 'store-busy')
        waiting.get(event.owner)?.(event.place ?? -1)
    },
  })
  return {
    get calls() {
      return calls()
    },
    async hold() {
      const lease = await leases.acquire('contended')
      return () => lease.release()
    },
    async takeTurn(onWaiting) {
      const owner = crypto.randomUUID()
      let place = -1
      waiting.set(owner, (at) => {
        place = at
        onWaiting()
      })
      const times = await turn(async () => {
        const lease = await leases.acquire('contended', { owner, wait: 60_000 })
        return () => lease.release()
      })
      return { ...times, place }
    },
    async close() {
      await leases.close()
      await store.close()
      await close()
    },
  }
}

/** A lock of another package that gives no sign of waiting: its waiters count as waiting once they have asked. */
export function lockRival(
  acquire: () => Promise<() => Promise<unknown>>,
  close: () => Promise<unknown>,
  calls: () => number | null = () => null,
): Rival {
  return {
    get calls() {
      return calls()
    },
    hold: acquire,
    takeTurn: (onWaiting) =>
      turn(() => {
        const acquiring = acquire()
        onWaiting()
        return acquiring
      }),
    close,
  }
}

export function countCalls(store: LeaseStore): { readonly store: LeaseStore; readonly calls: number } {
  let calls = 0
  const counted = new Proxy(store, {
    get(_, name) {
      const member: unknown = Reflect.get(store, name)
      if (typeof member !== 'function') return member
      return (...args: unknown[]) => {
        if (COUNTED.has(name)) calls++
        return Reflect.apply(member, store, args)
      }
    },
  })
  return {
    store: counted,
    get calls() {
      return calls
    },
  }
}

const COUNTED = new Set<string | symbol>(['acquire', 'acquireAll', 'renew', 'release'])

export async function turn(acquire: () => Promise<() => Promise<unknown>>): Promise<Hold> {
  const release = await acquire()
  const granted = now()
  await sleep(HOLD_MS)
  const released = now()
  await release()
  return { place: -1, granted, released }
}

export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
