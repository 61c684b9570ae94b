/** One burst, in a process of its own, so that its memory can be measured. */
import { Kvm } from '@nats-io/kv'
import { connect } from '@nats-io/transport-node'
import { Redis } from 'ioredis'
import pg from 'pg'
import { httpStore } from '../../src/client/http-store.ts'
import { createLeases, type LeaseStore } from '../../src/core/index.ts'
import { natsStore } from '../../src/stores/nats/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { TOKEN } from '../holdfast-server.ts'

export interface Burst {
  readonly bareMs: number
  readonly leasesMs: number
  readonly failed: number
  readonly lost: number
  readonly attempts: number
  readonly megabytes: number
  readonly releaseMs: number
}

interface Backend {
  /** One request of the bare client. */
  bare(name: string): Promise<unknown>
  readonly store: LeaseStore
  close(): unknown
}

/** How many requests of the bare `fetch` are in flight: all at once, it would open a connection for each. */
const BARE_FETCHES = 32
const TTL_MS = 30_000
/** Of the held leases: a burst that delays their renewals for seconds loses them. */
const HELD_TTL_MS = 5000
/** Ten thousand leases with that TTL would need several thousand renewals a second. */
const MANY_HELD_TTL_MS = 30_000

const open: Record<string, (url: string) => Promise<Backend>> = {
  async postgres(url) {
    const pool = new pg.Pool({ connectionString: url, max: 10 })
    await pool.query(
      'create table if not exists bare (resource text primary key, owner text, expires timestamptz)',
    )
    const insert = `insert into bare values ($1, $2, clock_timestamp() + interval '30 s')`
    return {
      bare: (name) => pool.query(insert, [name, 'bare']),
      store: postgresStore(pool),
      close: () => pool.end(),
    }
  },
  async redis(url) {
    const client = new Redis(url)
    return {
      bare: (name) => client.set(`bare:${name}`, 'bare', 'PX', TTL_MS, 'NX'),
      store: redisStore(client),
      close: () => client.disconnect(),
    }
  },
  async nats(url) {
    const connection = await connect({ servers: url })
    const bucket = await new Kvm(connection).create('bare')
    return {
      bare: (name) => bucket.create(name.replaceAll(/[ :]/g, '-'), 'bare'),
      store: natsStore(connection),
      close: () => connection.close(),
    }
  },
  async http(url) {
    const bare = limited(BARE_FETCHES, async () => (await fetch(`${url}/healthz`)).text())
    return { bare, store: httpStore(url, { token: TOKEN }), close() {} }
  },
}

const [kind = '', url = '', count = '0', heldCount = '1'] = process.argv.slice(2)
/** The names of an earlier burst may still be in the store. */
const run = crypto.randomUUID()
const names = Array.from({ length: Number(count) }, (_, n) => `${run}:${n}`)
const backend = await open[kind]?.(url)
if (!backend) throw new Error(`unknown backend: ${kind}`)
const { store, bare } = backend
await Promise.all(names.slice(0, 100).map((name) => bare(`warm ${name}`)))

let lost = 0
let attempts = 0
const leases = createLeases(store, {
  wait: Infinity,
  onEvent({ type }) {
    if (type === 'lost') lost++
    if (type === 'attempt') attempts++
  },
})
const ttl = heldCount === '1' ? HELD_TTL_MS : MANY_HELD_TTL_MS
const held = await Promise.all(
  Array.from({ length: Number(heldCount) }, (_, n) => leases.acquire(`${run}:held:${n}`, { ttl })),
)
attempts = 0
let failed = 0
const leasesMs = await timed(() =>
  Promise.all(names.map((name) => leases.acquire(name, { ttl: TTL_MS }).catch(() => failed++))),
)
lost = Math.max(lost, held.filter((lease) => !lease.held).length)
const [lostInBurst, attemptsInBurst] = [lost, attempts]
const megabytes = process.resourceUsage().maxRSS / 1024
const releaseMs = await timed(() => leases.close())
// Without leases: renewals on the same connection would wait behind ten thousand bare requests.
const bareMs = await timed(() => Promise.all(names.map(bare)))
await store.close()
await backend.close()
const burst: Burst = {
  bareMs,
  leasesMs,
  failed,
  lost: lostInBurst,
  attempts: attemptsInBurst,
  megabytes,
  releaseMs,
}
process.send?.(burst)
process.disconnect?.()

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

function limited(max: number, work: (name: string) => Promise<unknown>) {
  const lanes = Array.from({ length: max }, (): Promise<unknown> => Promise.resolve())
  let next = 0
  return (name: string) => {
    const lane = next++ % max
    lanes[lane] = lanes[lane]?.then(() => work(name)) ?? work(name)
    return lanes[lane]
  }
}
