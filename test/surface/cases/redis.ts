import { type RedisClient, redisStore } from 'holdfast/redis'
import { type Backend, unique } from './backend.ts'
import { leasesCase } from './leases.ts'
import { storeCase } from './store.ts'

export function redisCases(client: RedisClient): Backend['cases'] {
  return {
    leases: () => leasesCase(() => redisStore(client)),
    store: () => storeCase(() => redisStore(client, { prefix: unique, listen: client, maxInFlight: 10 })),
  }
}
