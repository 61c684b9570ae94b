import { Redis } from 'ioredis'
import { redisStore } from '../../src/stores/redis/index.ts'
import { leaseRival, lockRival, type Membership, type Rival, turn } from '../contention/rival.ts'
import { openPeers, peerNames } from './peers.ts'

const TTL_MS = 30_000

export const LEASES = 'leases'
export const FLOOR = 'blocking pop'
export const rivalNames = [LEASES, ...peerNames, FLOOR]

export async function openRival(name: string, { url }: Membership): Promise<Rival | undefined> {
  if (name === LEASES) return leases(url)
  if (name === FLOOR) return blockingPop(url)
  const { client, counter } = countingClient(url)
  const [peer] = await openPeers(client, [name])
  if (!peer) client.disconnect()
  return (
    peer &&
    lockRival(
      () => peer.acquire('contended', TTL_MS),
      async () => client.disconnect(),
      () => counter.calls,
    )
  )
}

function leases(url: string): Rival {
  const { client, counter } = countingClient(url)
  return leaseRival(
    redisStore(client),
    () => counter.calls,
    async () => client.disconnect(),
  )
}

/** The floor: the server hands a token from one to the next. A connection for each waiter; no expiry, no token. */
async function blockingPop(url: string): Promise<Rival> {
  const { client, counter } = countingClient(url)
  const clients: Redis[] = [client]
  const put = () => client.rpush('baton', '')
  return {
    get calls() {
      return counter.calls
    },
    async hold() {
      await client.del('baton')
      return put
    },
    async takeTurn(onWaiting) {
      const own = new Redis(url)
      clients.push(own)
      await own.ping()
      return turn(async () => {
        counter.calls++
        const popping = own.blpop('baton', 0)
        onWaiting()
        await popping
        return put
      })
    },
    close: async () => clients.map((one) => one.disconnect()),
  }
}

export function countingClient(url: string) {
  const client = new Redis(url)
  const counter = { calls: 0 }
  const send = client.sendCommand.bind(client)
  client.sendCommand = (...args) => {
    counter.calls++
    return send(...args)
  }
  return { client, counter }
}
