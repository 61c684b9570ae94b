import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileStore } from '../../src/stores/file/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { describeWebLocks, realmOn } from '../locks/web-locks.ts'
import { makeBed } from './postgres/bed.ts'
import { type Connected, clients, freshPrefix, HOLDFAST_TEST_REDIS_URL } from './redis/clients.ts'

const { HOLDFAST_TEST_POSTGRES_URL = '' } = process.env

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

/** What a store without a queue cannot do. */
const WITHOUT_QUEUE = [
  // The callbacks of different names come in the order of the grants.
  'mode-mixed: Lock requests are granted in order',
  'mode-shared: Lock requests are granted in order',
  // Requests of other clients that wait are not seen.
  'query: query() can observe a deadlock',
  'query-ordering: Requests appear in state in order made.',
]

describeWebLocks(
  'the file store',
  async () => {
    const folder = await newFolder()
    return realmOn(
      async () => fileStore(folder),
      () => remove(folder),
    )
  },
  WITHOUT_QUEUE,
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

/** Calls on several connections overtake each other: a lock may be released before a request that was sent earlier. */
const SEVERAL_CONNECTIONS = ['mode-exclusive: Requests for distinct resources can be granted']

describeWebLocks(
  'the Postgres store',
  async () => {
    const bed = await makeBed(HOLDFAST_TEST_POSTGRES_URL)
    return realmOn(
      async () => bed.store(),
      () => bed[Symbol.asyncDispose](),
    )
  },
  SEVERAL_CONNECTIONS,
)
