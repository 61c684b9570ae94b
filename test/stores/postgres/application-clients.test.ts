import pg from 'pg'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresGuard } from '../../../src/guard/index.ts'
import { guardTable } from '../../../src/guard/sql.ts'
import { postgresJobs } from '../../../src/once/index.ts'
import { postgresAudit, postgresBus, postgresDocuments, postgresSecrets } from '../../../src/server/index.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { useJobs, useLeases, useServerParts } from '../parts-of-client.ts'
import { type Bed, makeBed } from './bed.ts'

const { HOLDFAST_TEST_POSTGRES_URL: url = '' } = process.env

/** Integers as BigInt, and everything else as the text of the server. */
const types = { getTypeParser: (oid: number) => (oid === 20 ? BigInt : (text: string) => text) }

let bed: Bed
const pools: { end(): Promise<unknown> }[] = []
const kept = <P extends { end(): Promise<unknown> }>(pool: P): P => {
  pools.push(pool)
  return pool
}
const clients = {
  'pg with its own parsers': () => kept(new pg.Pool({ connectionString: url, types: types as never })),
  'postgres.js with camel case and BigInt': () =>
    kept(postgres(url, { transform: postgres.camel, types: { bigint: postgres.BigInt }, onnotice() {} })),
  'postgres.js with Pascal case': () => kept(postgres(url, { transform: postgres.pascal, onnotice() {} })),
}

beforeAll(async () => {
  bed = await makeBed(url)
  await bed.admin.query(`create schema if not exists ${bed.schema}`)
})
afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.end()))
  await bed[Symbol.asyncDispose]()
})

describe.each(Object.entries(clients))('%s', (name, open) => {
  const place = () => `${bed.schema}.t${Object.keys(clients).indexOf(name)}`

  it('has leases, a queue and shared leases', async () => {
    const table = place().split('.')[1] as string
    await using store = postgresStore(open(), { schema: bed.schema, table })
    await useLeases(store)
  })

  it('has contents, an audit trail, secrets and a bus', async () => {
    const client = open()
    await using bus = postgresBus(client, { channel: `${bed.schema}_bus` })
    await useServerParts({
      documents: postgresDocuments(client, { table: `${place()}_documents` }),
      audit: postgresAudit(client, { table: `${place()}_audit` }),
      secrets: postgresSecrets(client, { table: `${place()}_secrets` }),
      bus,
    })
  })

  it('has jobs and a guard', async () => {
    const client = open()
    await useJobs(postgresJobs(client, { table: `${place()}_jobs` }))
    const table = `${place()}_guard`
    await bed.admin.query(guardTable({ table }))
    const guard = postgresGuard(client, { table })
    await guard.write({ resource: 'r', token: 2, id: 'b' }, async (transaction) => {
      await postgresGuard(transaction, { table }).check({ resource: 'r', token: 2, id: 'b' })
    })
    const stale = guard.write({ resource: 'r', token: 1, id: 'a' }, () => {})
    await expect(stale).rejects.toThrow('with token 2')
  })
})
