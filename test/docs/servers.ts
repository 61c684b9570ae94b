import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { Redis } from 'ioredis'
import { createConnection } from 'mysql2/promise'
import pg from 'pg'
import { type Server, type ServerName, startServer } from '../../scripts/services/index.ts'
import type { PlacedBlock } from './sandbox.ts'

interface Kind {
  readonly ports: readonly number[]
  /** A program with this text uses such a server. */
  readonly text: RegExp
  /** Empties it, so that each block finds the server of a reader who has just installed it. */
  reset(address: string): Promise<unknown>
}

/** Databases are called `app`, and so are their users. The pages may also connect as the owner of the tables. */
const USERS = ['app', 'owner']

const KINDS: Record<ServerName, Kind> = {
  redis: { ports: [6379], text: /ioredis|'redis'|redis:\/\//, reset: resetRedis },
  // In place of PgBouncer on 6432, a program finds Postgres itself.
  postgres: { ports: [5432, 6432], text: /'pg'|'postgres'|postgres:\/\//, reset: resetPostgres },
  mysql: { ports: [3306], text: /mysql2|mysql:\/\//, reset: resetMysql },
  nats: { ports: [4222], text: /@nats-io|nats:\/\//, reset: resetNats },
  etcd: { ports: [2379], text: /etcd3|etcd:\/\//, reset: resetEtcd },
  firestore: { ports: [8080], text: /@google-cloud\/firestore|firestore:/, reset: resetFirestore },
}
export const HOLDFAST_PORT = 4321
/** A page reads the token of its program from this variable. */
const LOCKS_TOKEN = 'a long random text'
const HOLDFAST_SERVER = `
import { memoryStore } from 'holdfast/memory'
import { createServer } from 'holdfast/server/node'

const origins = ['http://localhost:5173']
const settings = { port: 0, origins, openLeases: true, leaseTokens: ['${LOCKS_TOKEN}'], logLevel: 'error' }
const server = await createServer({ store: memoryStore(), settings })
console.log(server.url)
`

/** The servers that the pages name. Each is started for the first block that uses it. */
export class DocsServers implements AsyncDisposable {
  readonly #directory: string
  readonly #servers = new Map<ServerName, Promise<Server>>()
  #holdfast: ChildProcess | undefined
  #holdfastUrl: Promise<string> | undefined

  /** @param directory A project with the package. */
  constructor(directory: string) {
    this.#directory = directory
  }

  /** Starts and empties what a block uses. Resolves with the directory for `ports.mjs`, and variables for clients. */
  async prepare({ block, directory }: PlacedBlock) {
    const shown = [block.server?.preamble, block.server?.code, block.preamble, block.code]
    const text = [...shown, ...block.files.values()].join('\n')
    const ports = join(directory, '.ports')
    const variables: Record<string, string> = {
      LOCKS_TOKEN,
      PGUSER: 'app',
      METADATA_SERVER_DETECTION: 'none',
    }
    await mkdir(ports)
    for (const [name, kind] of Object.entries(KINDS) as [ServerName, Kind][]) {
      if (!kind.text.test(text)) continue
      const { address } = await this.#server(name)
      await kind.reset(address)
      for (const port of kind.ports) await writeFile(join(ports, String(port)), portOf(address))
      if (name === 'firestore')
        Object.assign(variables, { FIRESTORE_EMULATOR_HOST: address, GOOGLE_CLOUD_PROJECT: 'app' })
    }
    if (text.includes(String(HOLDFAST_PORT)) && !block.server)
      await writeFile(join(ports, String(HOLDFAST_PORT)), portOf(await this.holdfastUrl()))
    return { ports, variables }
  }

  /** A Holdfast server that lets pages of Vite in. */
  holdfastUrl(): Promise<string> {
    this.#holdfastUrl ??= this.#startHoldfast()
    return this.#holdfastUrl
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#holdfast?.kill('SIGKILL')
    for (const server of this.#servers.values()) await (await server).stop()
  }

  #server(name: ServerName): Promise<Server> {
    const server = this.#servers.get(name) ?? startServer(name)
    this.#servers.set(name, server)
    return server
  }

  async #startHoldfast(): Promise<string> {
    await writeFile(join(this.#directory, 'holdfast-server.mjs'), HOLDFAST_SERVER)
    const child = spawn(process.execPath, ['holdfast-server.mjs'], {
      cwd: this.#directory,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#holdfast = child
    const [url] = await once(createInterface(child.stdout), 'line')
    return url
  }
}

function portOf(address: string): string {
  return /:(\d+)(?:\/|$)/.exec(address)?.[1] ?? ''
}

async function resetRedis(address: string): Promise<void> {
  const client = new Redis(address)
  await client.flushall()
  client.disconnect()
}

async function resetPostgres(address: string): Promise<void> {
  const client = new pg.Client(address)
  await client.connect()
  await client.query('drop database if exists app with (force)')
  for (const user of USERS) {
    const { rowCount } = await client.query('select from pg_roles where rolname = $1', [user])
    if (rowCount === 0) await client.query(`create role ${user} superuser login`)
  }
  await client.query('create database app owner app')
  await client.end()
}

async function resetMysql(address: string): Promise<void> {
  const connection = await createConnection(address)
  await connection.query('drop database if exists app')
  await connection.query('create database app')
  for (const user of USERS) {
    await connection.query(`create user if not exists '${user}'@'%'`)
    await connection.query(`grant all on *.* to '${user}'@'%' with grant option`)
  }
  await connection.end()
}

async function resetNats(address: string): Promise<void> {
  const connection = await connect({ servers: address })
  const manager = await jetstreamManager(connection)
  for await (const { config } of manager.streams.list()) await manager.streams.delete(config.name)
  await connection.close()
}

async function resetEtcd(address: string): Promise<void> {
  // From the first key to the last.
  const everything = { key: 'AA==', range_end: 'AA==' }
  const url = `${address.replace(/^etcd:/, 'http:')}/v3/kv/deleterange`
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(everything) })
  if (!response.ok) throw new Error(`etcd: ${await response.text()}`)
}

async function resetFirestore(address: string): Promise<void> {
  const url = `http://${address}/emulator/v1/projects/app/databases/(default)/documents`
  const response = await fetch(url, { method: 'DELETE' })
  if (!response.ok) throw new Error(`Firestore: ${await response.text()}`)
}
