import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { createLeases, type Lease, type LeaseStore } from '../../src/core/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { HOLD_MS, type Hold, now } from './hold.ts'

/** One way of waiting in line, as one process has it. */
export interface Rival {
  /** Takes the resource, which is free. The function that it returns gives it up. */
  hold(): Promise<() => Promise<unknown>>
  /** Waits for its turn, holds for a moment. `onWaiting` is called when it stands in line. */
  takeTurn(onWaiting: () => void): Promise<Hold>
  /** Calls of the store so far, if it is one. */
  readonly calls: number
  close(): Promise<unknown>
}

/** `member` of `processes`: where the processes must know each other. */
export interface Membership {
  readonly url: string
  readonly member: number
  readonly members: number
}

export const rivals: Record<string, (membership: Membership) => Promise<Rival>> = {
  leases: async ({ url }) => {
    const pool = new pg.Pool({ connectionString: url, max: 10 })
    const counted = countCalls(postgresStore(pool, { schema: 'holdfast_bench' }))
    const waiting = new Map<string, (place: number) => void>()
    const leases = createLeases(counted.store, {
      onEvent: (event) => {
        if (event.type === 'waiting') waiting.get(event.owner)?.(event.place ?? -1)
      },
    })
    return {
      get calls() {
        return counted.calls
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
        const lease: Lease = await leases.acquire('contended', { owner, wait: 60_000 })
        const granted = now()
        await sleep(HOLD_MS)
        const released = now()
        await lease.release()
        return { place, granted, released }
      },
      async close() {
        await leases.close()
        await counted.store.close()
        await pool.end()
      },
    }
  },

  /** What one would write by hand: clear the row and notify the next, who takes the row. */
  'two bare statements with NOTIFY': async ({ url, member, members }) => {
    const pool = new pg.Pool({ connectionString: url, max: 10 })
    const listener = new pg.Client(url)
    await listener.connect()
    await listener.query(`listen baton_${member}`)
    const turns = new Map<number, () => void>()
    listener.on('notification', ({ payload }) => turns.get(Number(payload))?.())
    const take = (place: number) =>
      pool.query('update holdfast_bench.baton set owner = $1 where owner is null returning token', [
        String(place),
      ])
    const giveTo = (place: number) =>
      pool.query('with freed as (update holdfast_bench.baton set owner = null) select pg_notify($1, $2)', [
        `baton_${place % members}`,
        String(place),
      ])
    let next = member
    return {
      calls: 0,
      async hold() {
        await take(-1)
        return () => giveTo(0)
      },
      async takeTurn(onWaiting) {
        const place = next
        next += members
        await new Promise<void>((resolve) => {
          turns.set(place, resolve)
          onWaiting()
        })
        await take(place)
        const granted = now()
        await sleep(HOLD_MS)
        const released = now()
        await giveTo(place + 1)
        return { place, granted, released }
      },
      async close() {
        await listener.end()
        await pool.end()
      },
    }
  },

  /** The floor: the server hands over by itself. A connection for each waiter; no expiry, no token. */
  'blocking advisory lock': async ({ url }) => {
    const clients: pg.Client[] = []
    const connect = async () => {
      const client = new pg.Client(url)
      clients.push(client)
      await client.connect()
      return client
    }
    const unlock = (client: pg.Client) => client.query('select pg_advisory_unlock(1)')
    return {
      calls: 0,
      async hold() {
        const client = await connect()
        await client.query('select pg_advisory_lock(1)')
        return () => unlock(client)
      },
      async takeTurn(onWaiting) {
        const client = await connect()
        const granting = client.query('select pg_advisory_lock(1)')
        onWaiting()
        await granting
        const granted = now()
        await sleep(HOLD_MS)
        const released = now()
        await unlock(client)
        return { place: -1, granted, released }
      },
      close: () => Promise.all(clients.map((client) => client.end())),
    }
  },
}

function countCalls(store: LeaseStore): { readonly store: LeaseStore; readonly calls: number } {
  let calls = 0
  const count = <A extends unknown[], R>(call: (...args: A) => R) => {
    return (...args: A): R => {
      calls++
      return call(...args)
    }
  }
  const { acquire, renew, release } = store
  return {
    store: { ...store, acquire: count(acquire), renew: count(renew), release: count(release) },
    get calls() {
      return calls
    },
  }
}
