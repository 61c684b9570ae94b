import pg from 'pg'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { countCalls, leaseRival, type Membership, type Rival, turn } from '../contention/rival.ts'

const rivals: Record<string, (membership: Membership) => Promise<Rival>> = {
  leases: async ({ url }) => {
    const pool = new pg.Pool({ connectionString: url, max: 10 })
    const counted = countCalls(postgresStore(pool, { schema: 'holdfast_bench' }))
    return leaseRival(
      counted.store,
      () => counted.calls,
      () => pool.end(),
    )
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
      calls: null,
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
        const times = await turn(async () => {
          await take(place)
          return () => giveTo(place + 1)
        })
        return { ...times, place }
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
      calls: null,
      async hold() {
        const client = await connect()
        await client.query('select pg_advisory_lock(1)')
        return () => unlock(client)
      },
      async takeTurn(onWaiting) {
        const client = await connect()
        return turn(async () => {
          const granting = client.query('select pg_advisory_lock(1)')
          onWaiting()
          await granting
          return () => unlock(client)
        })
      },
      close: () => Promise.all(clients.map((client) => client.end())),
    }
  },
}

export const rivalNames = Object.keys(rivals)

export async function openRival(name: string, membership: Membership): Promise<Rival | undefined> {
  return rivals[name]?.(membership)
}
