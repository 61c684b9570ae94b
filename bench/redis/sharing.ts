import type { Redis } from 'ioredis'
import { redisStore } from '../../src/stores/redis/index.ts'
import { compareSharing, PERMITS, type SharingRival, sharedLeases } from '../contention/sharing.ts'
import { load } from './peers.ts'
import { countingClient } from './rivals.ts'

const TTL_MS = 30_000
const FOREVER_MS = 1_000_000

/** Semaphores and readers beside those of `redis-semaphore`, which has no readers. */
export function benchShared(url: string): Promise<void> {
  return compareSharing('Redis', {
    leases: async () => openLeases(url),
    'redis-semaphore, Semaphore': () =>
      openSemaphores(
        url,
        ({ Semaphore }, client, key, options) => new Semaphore(client, key, PERMITS, options),
      ),
    'redis-semaphore, MultiSemaphore': () =>
      openSemaphores(
        url,
        ({ MultiSemaphore }, client, key, options) => new MultiSemaphore(client, key, PERMITS, 1, options),
      ),
  })
}

function openLeases(url: string): SharingRival {
  const { client, counter } = countingClient(url)
  return sharedLeases(
    redisStore(client, { prefix: 'shared' }),
    () => counter.calls,
    async () => client.disconnect(),
  )
}

interface Semaphore {
  acquire(): Promise<void>
  release(): Promise<void>
}

type Package = Record<'Semaphore' | 'MultiSemaphore', new (...args: unknown[]) => Semaphore>

async function openSemaphores(
  url: string,
  create: (from: Package, client: Redis, key: string, options: object) => Semaphore,
): Promise<SharingRival | undefined> {
  const { client, counter } = countingClient(url)
  const found = (await load('redis-semaphore').catch(() => undefined)) as Package | undefined
  if (!found) client.disconnect()
  const key = crypto.randomUUID()
  const take = async () => {
    const semaphore = create(found as Package, client, key, {
      lockTimeout: TTL_MS,
      acquireTimeout: FOREVER_MS,
    })
    await semaphore.acquire()
    return () => semaphore.release()
  }
  return (
    found && {
      get calls() {
        return counter.calls
      },
      hasNoReaders: true,
      async hold() {
        const releases = await Promise.all(Array.from({ length: PERMITS }, take))
        return () => Promise.all(releases.map((release) => release()))
      },
      share(_, __, onWaiting) {
        const taking = take()
        onWaiting()
        return taking
      },
      close: async () => client.disconnect(),
    }
  )
}
