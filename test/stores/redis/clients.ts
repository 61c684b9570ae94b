import { Redis } from 'ioredis'
import { createClient } from 'redis'
import type { LeaseStore } from '../../../src/core/index.ts'
import { type RedisClient, redisStore } from '../../../src/stores/redis/index.ts'

export const { HOLDFAST_TEST_REDIS_URL = 'redis://127.0.0.1:6379' } = process.env

export interface Connected {
  readonly client: RedisClient
  close(): void
}

/** Both clients, with options that make calls fail at once while there is no connection. */
export const clients = {
  async ioredis(url: string, name = 'test'): Promise<Connected> {
    const client = new Redis(url, {
      connectionName: name,
      lazyConnect: true,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      retryStrategy: () => 20,
    })
    client.on('error', () => {})
    await client.connect()
    return { client, close: () => client.disconnect() }
  },
  async 'node-redis'(url: string, name = 'test'): Promise<Connected> {
    const client = createClient({ url, name, disableOfflineQueue: true, socket: { reconnectStrategy: 20 } })
    client.on('error', () => {})
    await client.connect()
    return { client, close: () => client.destroy() }
  },
}

export type ClientName = keyof typeof clients

export const clientNames = Object.keys(clients) as ClientName[]

let prefixes = 0

/** Each test, and each run of it, uses keys of its own on the shared server. */
export function freshPrefix(): string {
  return `test-${process.pid}-${Date.now().toString(36)}-${++prefixes}`
}

export interface OpenedStore extends AsyncDisposable {
  readonly store: LeaseStore
  readonly prefix: string
  /** The name of its connections on the server. */
  readonly name: string
}

/** A store with its own client, like that of a separate process. */
export async function openStore({
  client = 'ioredis' as ClientName,
  url = HOLDFAST_TEST_REDIS_URL,
  prefix = freshPrefix(),
} = {}): Promise<OpenedStore> {
  const name = freshPrefix()
  const connected = await clients[client](url, name)
  const store = redisStore(connected.client, { prefix })
  return {
    store,
    prefix,
    name,
    async [Symbol.asyncDispose]() {
      await store.close()
      connected.close()
    },
  }
}
