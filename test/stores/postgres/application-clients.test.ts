import pg from 'pg'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLeases } from '../../../src/core/index.ts'
import { postgresGuard } from '../../../src/guard/index.ts'
import { guardTable } from '../../../src/guard/sql.ts'
import { createOnce, postgresJobs } from '../../../src/once/index.ts'
import { postgresAudit, postgresBus, postgresDocuments, postgresSecrets } from '../../../src/server/index.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { eventually } from '../../eventually.ts'
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
    const table = place()
    await using store = postgresStore(open(), { schema: bed.schema, table: table.split('.')[1] as string })
    await using leases = createLeases(store)
    const first = await leases.acquire('r', { metadata: { a: 1 } })
    const second = leases.acquire('r')
    await eventually(async () => expect(await leases.waiting('r')).toHaveLength(1))
    expect(await leases.inspect('r')).toMatchObject({ id: first.id, token: first.token, metadata: { a: 1 } })
    await first.renew()
    await first.release()
    const next = await second
    expect(next.token).toBeGreaterThan(first.token)
    await next.release()
    const shared = await Promise.all([leases.acquire('s', { share: 2 }), leases.acquire('s', { share: 2 })])
    expect(await leases.list()).toMatchObject(shared.map(({ id }) => ({ id, share: 2 })))
  })

  it('has contents, an audit trail, secrets and a bus', async () => {
    const client = open()
    const documents = postgresDocuments(client, { table: `${place()}_documents` })
    expect(await documents.fence('room', { token: 5, holder: 'a' })).toBe(true)
    const saving = await documents.save('room', { token: 5, holder: 'a' }, { text: 'x' }, 0)
    expect(saving).toMatchObject({ saved: true, revision: expect.any(Number) })
    expect(await documents.read('room')).toMatchObject({ content: { text: 'x' }, token: 5 })
    expect(await documents.save('room', { token: 4, holder: 'b' }, 'y')).toEqual({ saved: false, fence: 5 })
    const audit = postgresAudit(client, { table: `${place()}_audit` })
    await audit.append({ at: '2030-01-01T12:00:00Z', action: 'lock', resource: 'r', token: 3, owner: 'a' })
    expect(await audit.read({ limit: 1 })).toMatchObject({ entries: [{ resource: 'r', token: 3 }] })
    const secrets = postgresSecrets(client, { table: `${place()}_secrets` })
    for (const secret of ['the first secret', 'the second secret'])
      expect(await secrets.keep('session', secret)).toBe('the first secret')
    await using bus = postgresBus(client, { channel: `${bed.schema}_bus` })
    await bus.check?.()
  })

  it('has jobs and a guard', async () => {
    const client = open()
    const table = `${place()}_jobs`
    const jobs = postgresJobs(client, { table })
    const once = createOnce(jobs)
    await jobs.add('job')
    expect(await once.run('job', () => ({ done: [1] }))).toMatchObject({ ran: true, result: { done: [1] } })
    expect(await once.run('job', () => 1)).toMatchObject({ ran: false, reason: 'already_finished' })
    expect(await jobs.read('job')).toMatchObject({ finished: true, result: { done: [1] }, attempts: 1 })
    await bed.admin.query(guardTable({ table: `${place()}_guard` }))
    const guard = postgresGuard(client, { table: `${place()}_guard` })
    await guard.check({ resource: 'r', token: 2, id: 'b' })
    await expect(guard.check({ resource: 'r', token: 1, id: 'a' })).rejects.toThrow('with token 2')
  })
})
