import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { createLeases } from '../../src/core/index.ts'
import { type RedisClient, redisStore } from '../../src/stores/redis/index.ts'
import { type Contender, compareRates, printTable, rateTable } from '../measure.ts'
import { openPeers } from './peers.ts'

const RAW = 'raw SET NX PX, Lua release'
const RAW_RELEASE = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`
const TTL_MS = 30_000
const KEYS = 64

interface Field extends AsyncDisposable {
  readonly contenders: readonly Contender[]
}

export async function benchUncontended(url: string): Promise<void> {
  for (const [client, enter] of Object.entries({ ioredis, 'node-redis': nodeRedis })) {
    await using field = await enter(url)
    for (const parallel of [1, KEYS]) {
      const rates = await compareRates(field.contenders, { parallel, rounds: 40, roundMs: 50 })
      const how = parallel === 1 ? 'one after the other' : `${parallel} keys in parallel`
      printTable(`Redis by ${client}, acquire + release, ${how}`, rateTable(rates, RAW))
    }
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
  const store = redisStore(client, { prefix: 'port' })
  const port = contender('store.acquire, store.release', async (resource) => {
    const id = crypto.randomUUID()
    const { granted } = await store.acquire({ resource, id, owner: 'bench', ttl: TTL_MS, lost: () => {} })
    expectOne(Number(granted))
    const { ended } = await store.release({ resource, id })
    expectOne(ended && 1)
  })
  const managed = redisStore(client, { prefix: 'manager' })
  const leases = createLeases(managed)
  const manager = contender('leases.tryAcquire, lease.release', async (resource) => {
    const lease = await leases.tryAcquire(resource)
    expectOne(lease && 1)
    await lease?.release()
  })
  return {
    contenders: [...(raw ? [raw] : []), port, manager, ...rivals],
    async [Symbol.asyncDispose]() {
      await leases.close()
      await Promise.all([store.close(), managed.close()])
      close()
    },
  }
}

/** Takes the keys in turn, so that no key is asked for while it is held. */
function contender(name: string, cycle: (key: string) => Promise<unknown>): Contender {
  const free = Array.from({ length: KEYS }, (_, n) => `invoice:${n}`)
  const run = async () => {
    const key = free.shift() ?? ''
    await cycle(key)
    free.push(key)
  }
  return { name, run }
}

function expectOne(count: unknown): void {
  if (count !== 1) throw new Error('not granted or not released')
}
