/** Leases within one process, beside `async-mutex`, which has neither expiry nor tokens. */
import { memoryStore } from '../src/stores/memory.ts'
import { compareSharing, PERMITS, type SharingRival, sharedLeases } from './contention/sharing.ts'
import { load } from './redis/peers.ts'

export async function run(): Promise<void> {
  await compareSharing('In one process', {
    'leases on memory': async () => openLeases(),
    'async-mutex, Semaphore': openSemaphore,
  })
}

function openLeases(): SharingRival {
  const store = memoryStore()
  let calls = 0
  const counted = {
    ...store,
    acquire: (...args: Parameters<typeof store.acquire>) => {
      calls++
      return store.acquire(...args)
    },
    release: (...args: Parameters<typeof store.release>) => {
      calls++
      return store.release(...args)
    },
  }
  return sharedLeases(
    counted,
    () => calls,
    async () => {},
  )
}

interface Package {
  readonly Semaphore: new (
    permits: number,
  ) => {
    acquire(weight?: number): Promise<[value: number, release: () => void]>
  }
}

async function openSemaphore(): Promise<SharingRival | undefined> {
  const found = (await load('async-mutex').catch(() => undefined)) as Package | undefined
  if (!found) return undefined
  const semaphore = new found.Semaphore(PERMITS)
  const take = async (weight: number) => {
    const [, release] = await semaphore.acquire(weight)
    return async () => release()
  }
  return {
    calls: null,
    hasNoReaders: true,
    hold: () => take(PERMITS),
    share(_, __, onWaiting) {
      const taking = take(1)
      onWaiting()
      return taking
    },
    close: async () => {},
  }
}
