import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { type RedisClient, redisStore } from '../../src/stores/redis/index.ts'
import {
  compareCycles,
  contender,
  expectOne,
  TTL_MS,
  throughManager,
  throughPort,
} from '../contention/cycles.ts'
import type { Contender } from '../measure.ts'
import { openPeers } from './peers.ts'

const RAW = 'raw SET NX PX, Lua release'
const RAW_RELEASE = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`

interface Field extends AsyncDisposable {
  readonly contenders: readonly Contender[]
}

export async function benchUncontended(url: string): Promise<void> {
  for (const [client, enter] of Object.entries({ ioredis, 'node-redis': nodeRedis })) {
    await using field = await enter(url)
    await compareCycles(`Redis by ${client}`, field.contenders, RAW, { rounds: 40, roundMs: 50 })
  }
}

async function ioredis(url: string): Promise<Field> {
  const client = new Redis(url)
  const sha = String(await client.script('LOAD', RAW_RELEASE))
  const raw = contender(RAW, async (key) => {
    const owner = crypto.randomUUID()
    expectOne((await client.set(key, owner, 'PX', TTL_MS, 'NX')) && 1)
    expectOne(await client.evalsha(sha, 1, key, owner))
  })
  const peers = await openPeers(client)
  const rivals = peers.map(({ name, acquire }) =>
    contender(name, async (key) => {
      const release = await acquire(`${name}:${key}`, TTL_MS)
      await release()
    }),
  )
  return field(client, [raw, ...rivals], () => client.disconnect())
}

async function nodeRedis(url: string): Promise<Field> {
  const client = createClient({ url })
  await client.connect()
  const sha = await client.scriptLoad(RAW_RELEASE)
  const raw = contender(RAW, async (key) => {
    const owner = crypto.randomUUID()
    expectOne((await client.set(key, owner, { PX: TTL_MS, NX: true })) && 1)
    expectOne(await client.evalSha(sha, { keys: [key], arguments: [owner] }))
  })
  return field(client, [raw], () => client.destroy())
}

/** The rivals, and between the first and the others our two ways on the same client. */
function field(client: RedisClient, [raw, ...rivals]: Contender[], close: () => void): Field {
  const port = throughPort(redisStore(client, { prefix: 'port' }))
  const manager = throughManager(redisStore(client, { prefix: 'manager' }))
  return {
    contenders: [...(raw ? [raw] : []), port, manager, ...rivals],
    async [Symbol.asyncDispose]() {
      await Promise.all([port.close(), manager.close()])
      close()
    },
  }
}
