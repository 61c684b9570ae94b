import { fileURLToPath } from 'node:url'
import type { LeaseStore } from '../../src/core/index.ts'
import type { OpenedStore } from '../../src/testing/node/index.ts'

export interface OpenedWithClient extends OpenedStore {
  /** Closes only the client. Absent: the store has none. */
  closeClient?(): Promise<void>
}

/** A store by its URL. Only the store that is asked for is loaded, with its client. */
export async function openStore(address: string): Promise<OpenedWithClient> {
  const scheme = address.slice(0, address.indexOf(':') + 1)
  const open = OPENERS[scheme]
  if (!open) throw new Error(`no store for ${scheme}; there are ${Object.keys(OPENERS).join(', ')}`)
  return open(address)
}

const OPENERS: Readonly<Record<string, (address: string) => Promise<OpenedWithClient>>> = {
  'sqlite:': async (address) => {
    const { sqliteStore } = await import('../../src/stores/sqlite/index.ts')
    return withoutClient(sqliteStore(new URL(address).pathname))
  },
  'file:': async (address) => {
    const { fileStore } = await import('../../src/stores/file/index.ts')
    return withoutClient(fileStore(fileURLToPath(address)))
  },
  'memory:': async () => {
    const { memoryStore } = await import('../../src/stores/memory.ts')
    return withoutClient(memoryStore())
  },
  /** The name of its user is the token. */
  'http:': async (address) => {
    const { httpStore } = await import('../../src/client/http-store.ts')
    const { username: token, origin } = new URL(address)
    return withoutClient(httpStore(origin, { token }))
  },
  'redis:': async (address) => {
    const { Redis } = await import('ioredis')
    const { redisStore } = await import('../../src/stores/redis/index.ts')
    const client = new Redis(address)
    client.on('error', ignore)
    return withClient(redisStore(client), async () => client.disconnect())
  },
  'redis+sentinel:': async (address) => {
    const { Redis } = await import('ioredis')
    const { redisStore } = await import('../../src/stores/redis/index.ts')
    const { host, name } = /\/\/(?<host>[^/]*)\/(?<name>.*)/.exec(address)?.groups ?? {}
    const { hostname, port } = new URL(`redis://${host}`)
    const client = new Redis({ sentinels: [{ host: hostname, port: Number(port) }], name: name ?? '' })
    client.on('error', ignore)
    return withClient(redisStore(client), async () => client.disconnect())
  },
  'postgres:': async (address) => {
    const { default: pg } = await import('pg')
    const { postgresStore } = await import('../../src/stores/postgres/index.ts')
    const url = new URL(address)
    const allowExitOnIdle = url.searchParams.has('allowExitOnIdle')
    url.searchParams.delete('allowExitOnIdle')
    const pool = new pg.Pool({ connectionString: url.href, max: 4, allowExitOnIdle })
    pool.on('error', ignore)
    return withClient(postgresStore(pool), () => pool.end())
  },
  'mysql:': async (address) => {
    const { createPool } = await import('mysql2/promise')
    const { mysqlStore } = await import('../../src/stores/mysql/index.ts')
    const pool = createPool({ uri: address, connectionLimit: 4 })
    return withClient(mysqlStore(pool), () => pool.end())
  },
  'etcd:': async (address) => {
    const { Etcd3 } = await import('etcd3')
    const { etcdStore } = await import('../../src/stores/etcd/index.ts')
    const client = new Etcd3({ hosts: hostsOf(address).map((host) => `http://${host}`) })
    return withClient(etcdStore(client), async () => client.close())
  },
  'nats:': async (address) => {
    const { connect } = await import('@nats-io/transport-node')
    const { natsStore } = await import('../../src/stores/nats/index.ts')
    const { searchParams } = new URL(address.replace(/\/\/[^?]*/, ''))
    const replicas = Number(searchParams.get('replicas') ?? 1)
    const connection = await connect({
      ...{ servers: hostsOf(address), maxReconnectAttempts: -1, reconnectTimeWait: 100 },
      // A server that crashes during a greeting is asked again, also for the first time.
      ...{ timeout: 2000, waitOnFirstConnect: true },
    })
    return withClient(natsStore(connection, { replicas }), () => connection.close())
  },
  'firestore:': async (address) => {
    const { Firestore } = await import('@google-cloud/firestore')
    const { firestoreStore } = await import('../../src/stores/firestore/index.ts')
    const { host } = new URL(address)
    // Without the second the client looks for the metadata server of a cloud machine, and waits for it.
    Object.assign(process.env, { FIRESTORE_EMULATOR_HOST: host, METADATA_SERVER_DETECTION: 'none' })
    const client = new Firestore({ projectId: 'holdfast' })
    return withClient(firestoreStore(client), () => client.terminate())
  },
}

/** An address may name several servers of one cluster: `etcd://a:2379,b:2379`. */
function hostsOf(address: string): string[] {
  return /\/\/([^/?]*)/.exec(address)?.[1]?.split(',') ?? []
}

function withClient(store: LeaseStore, closeClient: () => Promise<void>): OpenedWithClient {
  return {
    store,
    closeClient,
    async close() {
      await store.close()
      await closeClient()
    },
  }
}

function withoutClient(store: LeaseStore): OpenedStore {
  return { store, close: () => store.close() }
}

/** A client that tells of a lost connection must be heard, or it ends the process; the store tells as well. */
function ignore(): void {}
