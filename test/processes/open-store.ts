import { fileURLToPath } from 'node:url'
import type { LeaseStore } from '../../src/core/index.ts'

export interface OpenStore {
  readonly store: LeaseStore
  /** Closes the store, and the client under it. */
  close(): Promise<void>
}

/** A store by its URL. Only the store that is asked for is loaded, with its client. */
export async function openStore(address: string): Promise<OpenStore> {
  const { protocol } = new URL(address)
  const open = OPENERS[protocol]
  if (!open) throw new Error(`no store for ${protocol}; there are ${Object.keys(OPENERS).join(', ')}`)
  return open(address)
}

const OPENERS: Readonly<Record<string, (address: string) => Promise<OpenStore>>> = {
  'sqlite:': async (address) => {
    const { sqliteStore } = await import('../../src/stores/sqlite/index.ts')
    return withoutClient(sqliteStore(new URL(address).pathname))
  },
  'file:': async (address) => {
    const { fileStore } = await import('../../src/stores/file/index.ts')
    return withoutClient(fileStore(fileURLToPath(address)))
  },
  'postgres:': async (address) => {
    const { default: pg } = await import('pg')
    const { postgresStore } = await import('../../src/stores/postgres/index.ts')
    const pool = new pg.Pool({ connectionString: address, max: 4 })
    pool.on('error', ignore)
    return withClient(postgresStore(pool), () => pool.end())
  },
  'nats:': async (address) => {
    const { connect } = await import('@nats-io/transport-node')
    const { natsStore } = await import('../../src/stores/nats/index.ts')
    const connection = await connect({ servers: address, maxReconnectAttempts: -1, reconnectTimeWait: 100 })
    return withClient(natsStore(connection), () => connection.close())
  },
}

function withClient(store: LeaseStore, closeClient: () => Promise<void>): OpenStore {
  return {
    store,
    async close() {
      await store.close()
      await closeClient()
    },
  }
}

function withoutClient(store: LeaseStore): OpenStore {
  return { store, close: () => store.close() }
}

/** A client that tells of a lost connection must be heard, or it ends the process; the store tells as well. */
function ignore(): void {}
