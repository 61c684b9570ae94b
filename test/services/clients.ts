import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { Etcd3 } from 'etcd3'
import { Redis } from 'ioredis'
import { type Connection, createConnection } from 'mysql2/promise'
import pg from 'pg'
import type { ServerName } from '../../scripts/services/index.ts'
import { HANG_MS } from '../hang-limit.ts'

interface Client {
  /** Leaves a mark that outlives a crash. */
  write(address: string): Promise<unknown>
  /** Whether the mark is there. */
  read(address: string): Promise<boolean>
}

export const clients: Record<ServerName, Client> = {
  redis: {
    write: (address) => onRedis(address, (client) => client.set('mark', '1')),
    read: (address) => onRedis(address, async (client) => (await client.get('mark')) === '1'),
  },
  postgres: {
    write: (address) => onPostgres(address, (client) => client.query('create table mark ()')),
    read: (address) =>
      onPostgres(address, async (client) => (await client.query('select from mark')).rows.length === 0),
  },
  mysql: {
    write: (address) => onMysql(address, (connection) => connection.query('create table mark (n int)')),
    read: (address) =>
      onMysql(address, async (connection) =>
        Array.isArray((await connection.query('select * from mark'))[0]),
      ),
  },
  nats: {
    write: (address) => onNats(address, (manager) => manager.streams.add({ name: 'mark' })),
    read: (address) => onNats(address, async (manager) => (await manager.streams.info('mark')) !== null),
  },
  etcd: {
    write: (address) => onEtcd(address, (client) => client.put('mark').value('1').exec()),
    read: (address) => onEtcd(address, async (client) => (await client.get('mark').string()) === '1'),
  },
  firestore: {
    write: (address) => fetch(`http://${address}/`),
    // The emulator forgets everything; that it answers is all that can be asked.
    read: async (address) => (await fetch(`http://${address}/`)).ok,
  },
}

async function onRedis<T>(address: string, work: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(address)
  try {
    return await work(client)
  } finally {
    client.disconnect()
  }
}

async function onPostgres<T>(address: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(address)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

async function onMysql<T>(address: string, work: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await createConnection(address)
  try {
    return await work(connection)
  } finally {
    await connection.end()
  }
}

async function onEtcd<T>(address: string, work: (client: Etcd3) => Promise<T>): Promise<T> {
  const client = new Etcd3({ hosts: address.replace(/^etcd:/, 'http:') })
  try {
    return await work(client)
  } finally {
    client.close()
  }
}

type JetStreamManager = Awaited<ReturnType<typeof jetstreamManager>>

async function onNats<T>(address: string, work: (manager: JetStreamManager) => Promise<T>): Promise<T> {
  const connection = await connect({ servers: address })
  try {
    return await work(await jetstreamManager(connection, { timeout: HANG_MS }))
  } finally {
    await connection.close()
  }
}
