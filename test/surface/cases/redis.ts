import { type RedisScriptClient, redisGuard } from 'holdfast/guard'
import { redisJobs } from 'holdfast/once'
import { type RedisClient, redisStore } from 'holdfast/redis'
import { redisAudit, redisBus, redisDocuments, redisParts, redisSecrets } from 'holdfast/server'
import { type Backend, unique } from './backend.ts'
import { guardCase } from './guard.ts'
import { leasesCase } from './leases.ts'
import { locksCase } from './locks.ts'
import { FIELDS, onceCase, STATUSES } from './once.ts'
import { auditCase, busCase, documentsCase, partsCase, secretsCase } from './server-parts.ts'
import { storeCase } from './store.ts'

export function redisCases(client: RedisClient & RedisScriptClient): Backend['cases'] {
  return {
    leases: () => leasesCase(() => redisStore(client)),
    locks: () => locksCase(() => redisStore(client)),
    store: () => storeCase(() => redisStore(client, { prefix: unique, listen: client, maxInFlight: 10 })),
    async guard() {
      const guard = redisGuard(client, `${unique}:document`)
      await guardCase(guard.announce)
      await guardCase(redisGuard(client, `${unique}:other`).check)
      const lease = { resource: `${unique}:guarded`, token: 35, id: 'lease-35' }
      await guard.set(lease, 'saved')
      await guard.set(lease, 'saved', { px: '1m' })
    },
    async server() {
      await documentsCase(redisDocuments(client))
      await documentsCase(redisDocuments(client, { prefix: `${unique}:parts` }))
      await auditCase(redisAudit(client))
      await auditCase(redisAudit(client, { prefix: `${unique}:parts`, maxEntries: 100 }))
      await secretsCase(redisSecrets(client))
      await secretsCase(redisSecrets(client, { prefix: `${unique}:parts` }))
      await busCase(() => redisBus(client))
      await partsCase(redisParts(client))
      await partsCase(redisParts(client, { prefix: `${unique}:all` }))
      await busCase(() => redisBus(client, { channel: `${unique}:bus` }))
    },
    once: () =>
      onceCase(
        redisJobs(client),
        redisJobs(client, { prefix: `${unique}:jobs`, fields: FIELDS, statuses: STATUSES }),
      ),
  }
}
