/** All that a server keeps on one backend, with names that belong together. */

import { expectOptions } from '../base/arguments.ts'
import type { EtcdClient } from '../clients/etcd.ts'
import type { MysqlClient } from '../clients/mysql.ts'
import type { NatsConnection } from '../clients/nats.ts'
import type { PostgresClient } from '../clients/postgres.ts'
import type { RedisClient } from '../clients/redis.ts'
import type { LeaseStore } from '../core/index.ts'
import { etcdStore } from '../stores/etcd/index.ts'
import { mysqlStore } from '../stores/mysql/index.ts'
import { natsStore } from '../stores/nats/index.ts'
import { postgresStore } from '../stores/postgres/index.ts'
import { redisStore } from '../stores/redis/index.ts'
import type { AuditLog } from './audit.ts'
import type { Bus } from './bus.ts'
import { etcdBus } from './buses/etcd.ts'
import { mysqlBus } from './buses/mysql.ts'
import { natsBus } from './buses/nats.ts'
import { postgresBus } from './buses/postgres.ts'
import { redisBus } from './buses/redis.ts'
import type { DocumentStore } from './documents.ts'
import { etcdAudit, etcdDocuments, etcdSecrets } from './etcd.ts'
import { mysqlAudit, mysqlDocuments, mysqlSecrets } from './mysql.ts'
import { natsAudit, natsDocuments, natsSecrets } from './nats.ts'
import type {
  EtcdServerOptions,
  MysqlServerOptions,
  NatsServerOptions,
  PostgresServerOptions,
  RedisServerOptions,
} from './options.ts'
import { postgresAudit, postgresDocuments, postgresSecrets } from './postgres.ts'
import { redisAudit, redisDocuments, redisSecrets } from './redis.ts'
import type { SecretStore } from './secrets.ts'

/** What the nodes of a service share, beside the leases. */
export interface SharedParts {
  readonly documents: DocumentStore
  readonly audit: AuditLog
  readonly secrets: SecretStore
  readonly bus: Bus
}

/** The options of `createServer` that say where things are stored. */
export interface ServerParts extends SharedParts, AsyncDisposable {
  readonly store: LeaseStore
  /** Closes the bus and the store. Your client stays open. Call it after the server is closed. */
  close(): Promise<void>
}

/**
 * All that a server keeps, in Postgres.
 *
 * @example
 * const server = await createServer({ ...postgresParts(pool) })
 */
export function postgresParts(client: PostgresClient, options: PostgresServerOptions = {}): ServerParts {
  expectOptions(options, { schema: 1, table: 1, listen: 1 })
  return withClose({ store: postgresStore(client, given(options)), ...postgresShared(client, options) })
}

export function postgresShared(
  client: PostgresClient,
  { schema, table, listen }: PostgresServerOptions,
): SharedParts {
  const tableOf = (part: string) => ({
    table: `${schema === undefined ? '' : `${schema}.`}${table ?? 'holdfast'}_${part}`,
  })
  const channel = [schema, table ?? 'holdfast', 'bus'].filter(Boolean).join('_')
  return {
    documents: postgresDocuments(client, tableOf('documents')),
    audit: postgresAudit(client, tableOf('audit')),
    secrets: postgresSecrets(client, tableOf('secrets')),
    bus: postgresBus(client, given({ channel, listen })),
  }
}

/**
 * All that a server keeps, in MySQL or MariaDB.
 *
 * @example
 * const server = await createServer({ ...mysqlParts(pool) })
 */
export function mysqlParts(client: MysqlClient, options: MysqlServerOptions = {}): ServerParts {
  expectOptions(options, { table: 1 })
  return withClose({ store: mysqlStore(client, given(options)), ...mysqlShared(client, options) })
}

export function mysqlShared(client: MysqlClient, { table }: MysqlServerOptions): SharedParts {
  const tableOf = (part: string) => ({ table: `${table ?? 'holdfast'}_${part}` })
  return {
    documents: mysqlDocuments(client, tableOf('documents')),
    audit: mysqlAudit(client, tableOf('audit')),
    secrets: mysqlSecrets(client, tableOf('secrets')),
    bus: mysqlBus(client, tableOf('bus')),
  }
}

/**
 * All that a server keeps, in Redis.
 *
 * @example
 * const server = await createServer({ ...redisParts(new Redis()) })
 */
export function redisParts(client: RedisClient, options: RedisServerOptions = {}): ServerParts {
  expectOptions(options, { prefix: 1 })
  return withClose({ store: redisStore(client, given(options)), ...redisShared(client, options) })
}

export function redisShared(client: RedisClient, { prefix }: RedisServerOptions): SharedParts {
  return {
    documents: redisDocuments(client, given({ prefix })),
    audit: redisAudit(client, given({ prefix })),
    secrets: redisSecrets(client, given({ prefix })),
    bus: redisBus(client, given({ channel: prefix && `${prefix}:bus` })),
  }
}

/**
 * All that a server keeps, in NATS.
 *
 * @example
 * const server = await createServer({ ...natsParts(await connect({ servers: 'nats://localhost:4222' })) })
 */
export function natsParts(connection: NatsConnection, options: NatsServerOptions = {}): ServerParts {
  expectOptions(options, { bucket: 1, replicas: 1 })
  return withClose({ store: natsStore(connection, given(options)), ...natsShared(connection, options) })
}

export function natsShared(connection: NatsConnection, { bucket, replicas }: NatsServerOptions): SharedParts {
  const contents = given({ bucket: bucket && `${bucket}-documents`, replicas })
  return {
    documents: natsDocuments(connection, contents),
    audit: natsAudit(connection, contents),
    secrets: natsSecrets(connection, contents),
    bus: natsBus(connection, given({ subject: bucket && `${bucket}.bus` })),
  }
}

/**
 * All that a server keeps, in etcd.
 *
 * @example
 * const server = await createServer({ ...etcdParts(new Etcd3({ hosts })) })
 */
export function etcdParts(client: EtcdClient, options: EtcdServerOptions = {}): ServerParts {
  expectOptions(options, { prefix: 1 })
  return withClose({ store: etcdStore(client, given(options)), ...etcdShared(client, options) })
}

export function etcdShared(client: EtcdClient, { prefix }: EtcdServerOptions): SharedParts {
  // Not below the prefix of the leases, whose watch would receive all contents.
  const base = prefix?.replace(/\/$/, '')
  const contents = given({ prefix: base && `${base}-documents/` })
  return {
    documents: etcdDocuments(client, contents),
    audit: etcdAudit(client, contents),
    secrets: etcdSecrets(client, contents),
    bus: etcdBus(client, given({ key: base && `${base}-bus` })),
  }
}

/** `close` is not enumerable: `{ ...parts }` has only options of a server. */
export function withClose<Parts extends { readonly store: LeaseStore; readonly bus?: Bus }>(
  parts: Parts,
  closeMore: () => void = () => {},
): Parts & AsyncDisposable & { close(): Promise<void> } {
  const closeAll = async () => {
    await parts.bus?.close()
    await parts.store.close()
    closeMore()
  }
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= closeAll()
    return closing
  }
  return Object.defineProperties(parts as Parts & AsyncDisposable & { close(): Promise<void> }, {
    close: { value: close },
    [Symbol.asyncDispose]: { value: close },
  })
}

type Given<Options> = { [Name in keyof Options]: Exclude<Options[Name], undefined | ''> }

/** The options that are set. */
function given<Options extends object>(options: Options): Partial<Given<Options>> {
  const set = Object.entries(options).filter(([, value]) => value !== undefined)
  return Object.fromEntries(set) as Partial<Given<Options>>
}
