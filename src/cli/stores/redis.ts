import { systemClock } from '../../base/clock.ts'
import type { RedisClient } from '../../clients/redis.ts'
import { isReply, redisError } from '../../clients/redis-errors.ts'
import { redisStore } from '../../stores/redis/index.ts'
import {
  accessDenied,
  type BackendWarning,
  CONNECT_LIMIT_MS,
  loadClient,
  type OpenedStore,
  optional,
  takeParameter,
} from './opened-store.ts'

/** How the replies to a missing or wrong password begin. The last one is of Redis before version 6. */
const ACCESS_DENIED = ['NOAUTH', 'WRONGPASS', 'NOPERM', 'ERR invalid password']

interface Connected {
  readonly client: RedisClient
  readonly driver: string
  info(): Promise<string>
  close(): void
}

export async function openRedis(url: URL): Promise<OpenedStore> {
  const prefix = takeParameter(url, 'prefix')
  const connect = await loadClient<(url: string) => Promise<Connected>>('Redis', {
    ioredis: async () => withIoRedis(await import('ioredis')),
    redis: async () => withNodeRedis(await import('redis')),
  })
  const { client, driver, info, close } = await connect(url.href)
  const store = redisStore(client, optional('prefix', prefix))
  return {
    store,
    async backendInfo() {
      const fields = parseInfo(await info())
      return {
        version: `Redis ${fields.get('redis_version')} through ${driver}`,
        warnings: warningsIn(fields),
      }
    },
    async serverParts() {
      const { redisAudit, redisBus, redisDocuments, redisSecrets } = await import('../../server/index.ts')
      const options = optional('prefix', prefix)
      return {
        documents: redisDocuments(client, options),
        audit: redisAudit(client, options),
        secrets: redisSecrets(client, options),
        bus: redisBus(client, optional('channel', prefix && `${prefix}:bus`)),
      }
    },
    async close() {
      await store.close()
      close()
    },
  }
}

function withIoRedis({ Redis }: Pick<typeof import('ioredis'), 'Redis'>) {
  return async (url: string): Promise<Connected> => {
    const client = new Redis(url, { lazyConnect: true, connectTimeout: CONNECT_LIMIT_MS })
    const close = () => client.disconnect()
    await connectOnce(client, close)
    return { client, driver: 'ioredis', info: () => client.info(), close }
  }
}

function withNodeRedis({ createClient }: Pick<typeof import('redis'), 'createClient'>) {
  return async (url: string): Promise<Connected> => {
    const client = createClient({ url, socket: { connectTimeout: CONNECT_LIMIT_MS } })
    const close = () => client.destroy()
    await connectOnce(client, close)
    return { client, driver: 'redis', info: () => client.info(), close }
  }
}

interface Connectable {
  connect(): Promise<unknown>
  on(event: 'error', listener: (error: unknown) => void): unknown
}

/**
 * Rejects after the first failure, because both clients would retry forever. The listener stays: later errors of the
 * connection are ignored, because each call reports them.
 */
async function connectOnce(client: Connectable, close: () => void): Promise<void> {
  const failed = Promise.withResolvers<never>()
  client.on('error', failed.reject)
  const timeout = new Error(`the server gave no answer within ${CONNECT_LIMIT_MS} ms`)
  const cancelLimit = systemClock.setTimer(() => failed.reject(timeout), CONNECT_LIMIT_MS, true)
  try {
    await Promise.race([client.connect(), failed.promise])
  } catch (error) {
    close()
    const reason = ACCESS_DENIED.find((code) => isReply(error, code))
    throw reason ? accessDenied(reason, 'redis', error) : redisError(error)
  } finally {
    cancelLimit()
  }
}

function parseInfo(info: string): Map<string, string> {
  return new Map(info.split('\r\n').map((line) => line.split(':', 2) as [string, string]))
}

function warningsIn(fields: ReadonlyMap<string, string>): BackendWarning[] {
  const warnings: BackendWarning[] = []
  const policy = fields.get('maxmemory_policy')
  if (policy && policy !== 'noeviction' && fields.get('maxmemory') !== '0')
    warnings.push({
      text: `the server may evict leases (maxmemory-policy ${policy})`,
      remedy: 'set maxmemory-policy noeviction',
    })
  if (fields.get('aof_enabled') === '0')
    warnings.push({
      text: 'the server forgets held leases when it crashes',
      remedy: 'set appendonly yes and appendfsync always, or check tokens at the resource',
    })
  return warnings
}
