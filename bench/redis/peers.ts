/** Locks of other packages, on the client that all of them take. They live in `bench/node_modules`. */
import { aborted } from 'node:util'
import type { Redis } from 'ioredis'

export interface PeerLocks {
  readonly name: string
  /** Asks until it gets the lock. Resolves with how to give it back. */
  acquire(key: string, ttl: number): Promise<() => Promise<unknown>>
  /** Holds the lock, keeps it alive, and calls `onLost` when it knows that it is gone. */
  hold?(key: string, ttl: number, onLost: () => void): Promise<unknown>
}

const FOREVER = 1_000_000

const PEERS: Record<string, (client: Redis) => Promise<Omit<PeerLocks, 'name'>>> = {
  'redlock 4': async (client) => {
    const { default: Redlock } = await load('redlock4')
    const locks = new Redlock([client], { retryCount: FOREVER })
    return {
      async acquire(key, ttl) {
        const lock = await locks.lock(key, ttl)
        return () => lock.unlock()
      },
    }
  },

  'redlock 5': async (client) => {
    const { default: Redlock } = await load('redlock5')
    const patient = new Redlock([client], { retryCount: FOREVER })
    return {
      async acquire(key, ttl) {
        const lock = await patient.acquire([key], ttl)
        return () => lock.release()
      },
      hold: (key, ttl, onLost) =>
        new Promise((resolve) => {
          const locks = new Redlock([client], { automaticExtensionThreshold: Math.ceil(ttl / 3) })
          const work = async (signal: AbortSignal) => {
            resolve(undefined)
            await aborted(signal, locks)
            onLost()
          }
          locks.using([key], ttl, work).catch(() => {})
        }),
    }
  },

  'redis-semaphore': async (client) => {
    const { Mutex } = await load('redis-semaphore')
    const options = { acquireTimeout: FOREVER }
    return {
      async acquire(key, ttl) {
        const mutex = new Mutex(client, key, { ...options, lockTimeout: ttl })
        await mutex.acquire()
        return () => mutex.release()
      },
      async hold(key, ttl, onLockLost) {
        await new Mutex(client, key, { lockTimeout: ttl, refreshInterval: ttl / 3, onLockLost }).acquire()
      },
    }
  },

  verrou: async (connection) => {
    const [{ Verrou }, { redisStore }] = await Promise.all(
      ['@verrou/core', '@verrou/core/drivers/redis'].map(load),
    )
    const locks = new Verrou({ default: 'redis', stores: { redis: { driver: redisStore({ connection }) } } })
    return {
      async acquire(key, ttl) {
        const lock = locks.createLock(key, ttl)
        await lock.acquire()
        return () => lock.release()
      },
    }
  },
}

export const peerNames = Object.keys(PEERS)

/** Those that are installed; a line says which are not. */
export async function openPeers(client: Redis, names = peerNames): Promise<PeerLocks[]> {
  const opened: PeerLocks[] = []
  for (const name of names) {
    try {
      const locks = await PEERS[name]?.(client)
      if (locks) opened.push({ name, ...locks })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
      console.log(`${name} is not installed: left out`)
    }
  }
  return opened
}

export function load(name: string) {
  return import(name)
}
