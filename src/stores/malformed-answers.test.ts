/** Clients whose connection was reset have been seen to answer with nothing, or with half of an answer. */
import { describe, expect, it } from 'vitest'
import { Stop } from '../base/abort.ts'
import { mysqlDatabase } from '../clients/mysql.ts'
import type { RedisDatabase } from '../clients/redis.ts'
import type { Ask } from '../core/index.ts'
import { namesOf as mysqlNamesOf } from './mysql/names.ts'
import { Queries as MysqlQueries } from './mysql/queries.ts'
import { namesOf } from './postgres/names.ts'
import { Queries as PostgresQueries } from './postgres/queries.ts'
import { Batches } from './redis/batches.ts'
import { Queries } from './redis/queries.ts'

const ask: Ask = { resource: 'r', id: 'id', owner: 'Mika', ttl: 1000 }
const UNAVAILABLE = {
  code: 'store-unavailable',
  retryable: true,
  message: expect.stringContaining('the answer is empty or malformed'),
}

describe.each<[string, unknown]>([
  ['no rows', []],
  ['no list of rows', undefined],
  ['a row without the column', [{}]],
  ['nothing in the row', [{ answer: null }]],
  ['half of an answer', [{ answer: '{"granted":tr' }]],
  ['a number', [{ answer: 5 }]],
])('Postgres that answers with %s', (_, rows) => {
  const queries = new PostgresQueries({ query: async () => rows } as never, namesOf('public', 'leases'))

  it.each(
    Object.entries({
      acquire: () => queries.acquire(ask, ''),
      'acquire of a share': () => queries.acquire({ ...ask, share: 5 }, ''),
      renew: () => queries.renew(ask),
      release: () => queries.release({ resource: 'r', id: 'id' }),
      read: () => queries.read(['r']),
      waiting: () => queries.waiting({ resources: ['r'], limit: 1 }),
      list: () => queries.list({ limit: 1 }),
      sweep: () => queries.sweep(1),
      register: () => queries.register([], ''),
      watch: () => queries.watch(),
    }),
  )('has not answered a call of %s, which may be repeated', async (_name, call) => {
    await expect(call()).rejects.toMatchObject(UNAVAILABLE)
  })
})

describe('MySQL', () => {
  const clientWith = (answer: unknown) => ({ query: async () => answer, execute() {} }) as never

  it.each([undefined, [], [undefined], [null]])(
    'MySQL that answers with %j has not answered',
    async (answer) => {
      await expect(mysqlDatabase(clientWith(answer)).query('select 1')).rejects.toMatchObject(UNAVAILABLE)
    },
  )

  it('MySQL that answers a request for a lease without a row has not answered', async () => {
    const database = mysqlDatabase(clientWith([[[], {}], []]))
    const queries = new MysqlQueries(database, mysqlNamesOf(undefined, 'leases'))
    await expect(queries.acquire(ask, 'channel')).rejects.toMatchObject(UNAVAILABLE)
  })
})

describe.each<[string, unknown]>([
  ['nothing', null],
  ['an empty text', ''],
  ['a text without the time', 'granted'],
  ['another number', 5],
])('Redis that answers with %s', (_, answer) => {
  const redis = { cluster: false, eval: async () => answer, evalSha: async () => answer }
  const operation = { shard: 0, keys: ['k'], args: ['renew'] }

  it('Redis with such an answer has not answered a call, whether it was sent alone or with others', async () => {
    const batches = new Batches(redis as unknown as RedisDatabase, 'holdfast')
    const calls = Array.from({ length: 3 }, () => batches.run(operation, new Stop()))
    for (const call of calls) await expect(call).rejects.toMatchObject(UNAVAILABLE)
  })

  it('Redis with such an answer has not answered a question for the waiters', async () => {
    const queries = new Queries(
      { run: async () => ({ now: 1, value: String(answer) }) } as unknown as Batches,
      'holdfast',
    )
    const waiting = queries.waiting({ resources: ['r'], limit: 1 }, new Stop())
    await expect(waiting).rejects.toMatchObject(UNAVAILABLE)
  })
})
