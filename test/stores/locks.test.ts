import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Etcd3 } from 'etcd3'
import { createPool } from 'mysql2/promise'
import { randomId } from '../../src/base/random-id.ts'
import { etcdStore } from '../../src/stores/etcd/index.ts'
import { fileStore } from '../../src/stores/file/index.ts'
import { mysqlStore } from '../../src/stores/mysql/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { KNOWN_DIFFERENCES } from '../locks/known-differences.ts'
import { describeWebLocks, realmOn } from '../locks/web-locks.ts'
import { makeBed } from './postgres/bed.ts'
import { type Connected, clients, freshPrefix, HOLDFAST_TEST_REDIS_URL } from './redis/clients.ts'

const {
  HOLDFAST_TEST_POSTGRES_URL = '',
  HOLDFAST_TEST_MYSQL_URL = '',
  HOLDFAST_TEST_ETCD_URL = '',
} = process.env

const newFolder = () => mkdtemp(join(tmpdir(), 'holdfast-locks-'))
const remove = (folder: string) => rm(folder, { recursive: true, force: true })

describeWebLocks('the SQLite store', async () => {
  const folder = await newFolder()
  const path = join(folder, 'locks.db')
  return realmOn(
    async () => sqliteStore(path),
    () => remove(folder),
  )
})

describeWebLocks(
  'the file store',
  async () => {
    const folder = await newFolder()
    return realmOn(
      async () => fileStore(folder),
      () => remove(folder),
    )
  },
  KNOWN_DIFFERENCES['file'],
)

describeWebLocks('the Redis store', () => {
  const prefix = freshPrefix()
  const opened: Connected[] = []
  const open = async () => {
    const connected = await clients.ioredis(HOLDFAST_TEST_REDIS_URL)
    opened.push(connected)
    return redisStore(connected.client, { prefix })
  }
  return realmOn(open, () => {
    for (const { close } of opened) close()
  })
})

describeWebLocks('the Postgres store', async () => {
  const bed = await makeBed(HOLDFAST_TEST_POSTGRES_URL)
  return realmOn(
    async () => bed.store(),
    () => bed[Symbol.asyncDispose](),
  )
})

describeWebLocks('the MySQL store', async () => {
  const pool = createPool(HOLDFAST_TEST_MYSQL_URL)
  const table = `locks_${randomId().slice(0, 8)}`
  return realmOn(
    async () => mysqlStore(pool, { table }),
    () => pool.end(),
  )
})

describeWebLocks('the etcd store', async () => {
  const client = new Etcd3({ hosts: HOLDFAST_TEST_ETCD_URL.replace(/^etcd:/, 'http:') })
  const prefix = `locks-${randomId()}/`
  return realmOn(
    async () => etcdStore(client, { prefix }),
    () => client.close(),
  )
})
