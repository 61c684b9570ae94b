import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { createLeases } from '../../src/core/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { openPeers, peerNames } from './peers.ts'

export const HOLD_MS = 1
const TTL_MS = 30_000

/** One turn of one waiter. Times are milliseconds of the machine's monotonic clock, the same in all processes. */
export interface Hold {
  /** Where it stood in line; -1 where there is none. */
  readonly place: number
  readonly granted: number
  /** When it called for the release. */
  readonly released: number
}

/** One way of waiting, as one process has it. */
export interface Rival {
  /** Takes the resource, which is free. The function that it returns gives it up. */
  hold(): Promise<() => Promise<unknown>>
  /** Waits for its turn, holds for a moment. `onWaiting` is called when it stands in line. */
  takeTurn(onWaiting: () => void): Promise<Hold>
  /** Commands sent to the server so far. */
  readonly commands: number
  close(): Promise<unknown>
}

export const LEASES = 'leases'
export const FLOOR = 'blocking pop'
export const rivalNames = [LEASES, ...peerNames, FLOOR]

export async function openRival(name: string, url: string): Promise<Rival | undefined> {
  if (name === LEASES) return leases(url)
  if (name === FLOOR) return blockingPop(url)
  const { client, counter } = countingClient(url)
  const [peer] = await openPeers(client, [name])
  if (!peer) client.disconnect()
  return (
    peer && {
      get commands() {
        return counter.commands
      },
      hold: () => peer.acquire('contended', TTL_MS),
      takeTurn: (onWaiting) =>
        turn(() => {
          const acquiring = peer.acquire('contended', TTL_MS)
          onWaiting()
          return acquiring
        }),
      close: async () => client.disconnect(),
    }
  )
}

async function leases(url: string): Promise<Rival> {
  const { client, counter } = countingClient(url)
  const store = redisStore(client)
  const waiting = new Map<string, (place: number) => void>()
  const manager = createLeases(store, {
    onEvent: (event) => {
      if (event.type === 'waiting') waiting.get(event.owner)?.(event.place ?? -1)
    },
  })
  return {
    get commands() {
      return counter.commands
    },
    async hold() {
      const lease = await manager.acquire('contended')
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
        const lease = await manager.acquire('contended', { owner, wait: 60_000 })
        return () => lease.release()
      })
      return { ...times, place }
    },
    async close() {
      await manager.close()
      await store.close()
      client.disconnect()
    },
  }
}

/** The floor: the server hands a token from one to the next. A connection for each waiter; no expiry, no token. */
async function blockingPop(url: string): Promise<Rival> {
  const { client, counter } = countingClient(url)
  const clients: Redis[] = [client]
  const put = () => client.rpush('baton', '')
  return {
    get commands() {
      return counter.commands
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
        counter.commands++
        const popping = own.blpop('baton', 0)
        onWaiting()
        await popping
        return put
      })
    },
    close: async () => clients.map((one) => one.disconnect()),
  }
}

async function turn(acquire: () => Promise<() => Promise<unknown>>): Promise<Hold> {
  const release = await acquire()
  const granted = now()
  await sleep(HOLD_MS)
  const released = now()
  await release()
  return { place: -1, granted, released }
}

function countingClient(url: string) {
  const client = new Redis(url)
  const counter = { commands: 0 }
  const send = client.sendCommand.bind(client)
  client.sendCommand = (...args) => {
    counter.commands++
    return send(...args)
  }
  return { client, counter }
}

export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
