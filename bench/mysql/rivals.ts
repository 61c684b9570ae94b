import { type Connection, createConnection, createPool } from 'mysql2/promise'
import { mysqlStore } from '../../src/stores/mysql/index.ts'
import { countCalls, leaseRival, lockRival, type Membership, type Rival, turn } from '../contention/rival.ts'
import { openVerrou } from '../contention/verrou.ts'

const TTL_MS = 30_000
const FOREVER_S = 1000

export const VERROU = 'verrou'

const rivals: Record<string, (membership: Membership) => Promise<Rival | undefined>> = {
  leases: async ({ url }) => {
    const pool = createPool({ uri: url, connectionLimit: 10 })
    const counted = countCalls(mysqlStore(pool))
    return leaseRival(
      counted.store,
      () => counted.calls,
      () => pool.end(),
    )
  },

  [VERROU]: async ({ url }) => {
    const locks = await openVerrou({ client: 'mysql2', connection: url })
    const acquire = async () => {
      const lock = locks?.createLock('contended', TTL_MS)
      await lock?.acquire()
      return async () => lock?.release()
    }
    return locks && lockRival(acquire, () => locks.close())
  },

  /** The floor: the server hands over by itself. A connection for each waiter; no expiry, no token. */
  'blocking GET_LOCK': async ({ url }) => {
    const connections: Connection[] = []
    const connect = async () => {
      const connection = await createConnection(url)
      connections.push(connection)
      return connection
    }
    const lock = (connection: Connection) => connection.query(`do get_lock('contended', ${FOREVER_S})`)
    const unlock = (connection: Connection) => connection.query(`do release_lock('contended')`)
    return {
      calls: null,
      async hold() {
        const connection = await connect()
        await lock(connection)
        return () => unlock(connection)
      },
      async takeTurn(onWaiting) {
        const connection = await connect()
        return turn(async () => {
          const granting = lock(connection)
          onWaiting()
          await granting
          return () => unlock(connection)
        })
      },
      close: () => Promise.all(connections.map((connection) => connection.end())),
    }
  },
}

export const rivalNames = Object.keys(rivals)

export async function openRival(name: string, membership: Membership): Promise<Rival | undefined> {
  return rivals[name]?.(membership)
}
