import { LeaseError } from '../../core/index.ts'
import type { RedisBusClient } from '../../server/index.ts'
import { redisStore } from '../../stores/redis/index.ts'
import {
  type Concern,
  loadClient,
  notLetIn,
  type OpenedStore,
  optional,
  takeParameter,
} from './opened-store.ts'

const CONNECT_LIMIT_MS = 5000
/** Replies to who has no password or a wrong one; the last is that of Redis before version 6. */
const NOT_LET_IN = /^(NOAUTH|WRONGPASS|NOPERM|ERR invalid password)\b/

interface Connected {
  readonly client: Parameters<typeof redisStore>[0] & RedisBusClient
  readonly driver: string
  info(): Promise<string>
  close(): void
}

export async function openRedis(url: URL): Promise<OpenedStore> {
  const prefix = takeParameter(url, 'prefix')
  const connect = await loadClient<(url: string) => Promise<Connected>>('Redis', {
    ioredis: async () => byIoRedis(await import('ioredis')),
    redis: async () => byNodeRedis(await import('redis')),
  })
  const { client, driver, info, close } = await connect(url.href)
  const store = redisStore(client, optional('prefix', prefix))
  return {
    store,
    async examine() {
      const facts = factsIn(await info())
      return {
        version: `Redis ${facts.get('redis_version')} through ${driver}`,
        concerns: concernsIn(facts),
      }
    },
    serverParts: async () => ({ bus: (await import('../../server/index.ts')).redisBus(client) }),
    async close() {
      await store.close()
      close()
    },
  }
}

function byIoRedis({ Redis }: Pick<typeof import('ioredis'), 'Redis'>) {
  return async (url: string): Promise<Connected> => {
    const client = new Redis(url, { lazyConnect: true, connectTimeout: CONNECT_LIMIT_MS })
    await connected(client, () => client.connect()).catch((error) => {
      client.disconnect()
      throw error
    })
    return { client, driver: 'ioredis', info: () => client.info(), close: () => client.disconnect() }
  }
}

function byNodeRedis({ createClient }: Pick<typeof import('redis'), 'createClient'>) {
  return async (url: string): Promise<Connected> => {
    const client = createClient({ url, socket: { connectTimeout: CONNECT_LIMIT_MS } })
    await connected(client, () => client.connect()).catch((error) => {
      client.destroy()
      throw error
    })
    return { client, driver: 'redis', info: () => client.info(), close: () => client.destroy() }
  }
}

interface Emitter {
  on(event: 'error', listener: (error: Error) => void): unknown
}

/** Both clients would try for ever: the first failure is told, and later ones are the store's to tell. */
function connected(client: Emitter, connect: () => Promise<unknown>): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (cause: Error) => {
      // Several addresses were tried: the list has no message of its own.
      const [first = cause] = cause instanceof AggregateError ? cause.errors : []
      const [reason] = NOT_LET_IN.exec(first.message) ?? []
      reject(
        reason
          ? notLetIn(reason, 'redis', cause)
          : new LeaseError('store-unavailable', first.message, { cause }),
      )
    }
    client.on('error', fail)
    const silence = new Error(`the server was silent for ${CONNECT_LIMIT_MS} ms`)
    setTimeout(() => fail(silence), CONNECT_LIMIT_MS).unref()
    connect().then(() => resolve(), fail)
  })
}

function factsIn(info: string): Map<string, string> {
  return new Map(info.split('\r\n').map((line) => line.split(':', 2) as [string, string]))
}

function concernsIn(facts: ReadonlyMap<string, string>): Concern[] {
  const concerns: Concern[] = []
  const policy = facts.get('maxmemory_policy')
  if (policy && policy !== 'noeviction' && facts.get('maxmemory') !== '0')
    concerns.push({
      about: `the server may evict leases (maxmemory-policy ${policy})`,
      remedy: 'set maxmemory-policy noeviction',
    })
  if (facts.get('aof_enabled') === '0')
    concerns.push({
      about: 'a crash of the server forgets leases that are held',
      remedy: 'set appendonly yes and appendfsync always, or check tokens at the resource',
    })
  return concerns
}
