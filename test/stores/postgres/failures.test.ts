import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Server, startServer } from '../../../scripts/services/index.ts'
import { createLeases } from '../../../src/core/index.ts'
import { FakeClock } from '../../../src/testing/index.ts'
import { eventually } from '../../eventually.ts'
import { asking, grab } from '../asking.ts'
import { type Bed, LISTENS, makeBed } from './bed.ts'

const { HOLDFAST_TEST_POSTGRES_URL: url = '' } = process.env

describe('a call to Postgres', () => {
  let bed: Bed
  beforeEach(async () => {
    bed = await makeBed(url)
  })
  afterEach(() => bed[Symbol.asyncDispose]())

  it('a call to Postgres ends when its signal aborts while it waits for a lock', async () => {
    const store = bed.store()
    await grab(store, 'r')
    await bed.admin.query('begin')
    await bed.admin.query(`select from ${bed.table} for update`)
    const stop = new AbortController()
    const call = store.acquire(asking('r'), { signal: stop.signal })
    call.catch(() => {})
    await bed.blocked()
    stop.abort(new Error('enough'))
    await expect(call).rejects.toMatchObject({ code: 'aborted', cause: { message: 'enough' } })
    await expect(store.read(['r'], { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'aborted',
    })
    await bed.admin.query('commit')
  })

  it('a call to Postgres is unavailable when the server ends its connection', async () => {
    const store = bed.store()
    await grab(store, 'r')
    await bed.admin.query('begin')
    await bed.admin.query(`select from ${bed.table} for update`)
    const call = store.acquire(asking('r'))
    call.catch(() => {})
    await bed.admin.query('select pg_terminate_backend($1)', [await bed.blocked()])
    await expect(call).rejects.toMatchObject({ code: 'store-unavailable', retryable: true, resource: 'r' })
    await bed.admin.query('commit')
    expect(await store.acquire(asking('r'))).toMatchObject({ granted: false })
  })

  it('fails for good on a Client whose connection is gone, because a Client cannot reconnect', async () => {
    const client = new pg.Client(url)
    client.on('error', () => {})
    await client.connect()
    const store = bed.storeOn(client)
    await grab(store, 'r')
    const ended = new Promise((resolve) => client.once('end', resolve))
    await bed.admin.query(`select pg_terminate_backend($1)`, [
      (client as unknown as { processID: number }).processID,
    ])
    await ended
    for (let call = 0; call < 2; call++)
      await expect(store.read(['r'])).rejects.toMatchObject({
        code: 'store-failed',
        message: expect.stringContaining('a Pool reconnects'),
      })
  })

  it('a call to Postgres is unavailable on a connection that may only read, also before the tables exist', async () => {
    const reader = bed.storeOn(bed.pool({ options: '-c default_transaction_read_only=on' }))
    const refusal = {
      code: 'store-unavailable',
      message: expect.stringContaining('; connect to the primary'),
    }
    await expect(reader.acquire(asking('r'))).rejects.toMatchObject(refusal)
    await expect(reader.check?.()).rejects.toMatchObject(refusal)
    const { id } = await grab(bed.store(), 'r')
    await expect(reader.acquire(asking('r'))).rejects.toMatchObject(refusal)
    await expect(reader.renew({ resource: 'r', id, ttl: 1000 })).rejects.toMatchObject(refusal)
    await expect(reader.check?.()).rejects.toMatchObject({
      ...refusal,
      message: expect.stringContaining('default_transaction_read_only is on; connect'),
    })
    expect(await reader.read(['r'])).toMatchObject([[{ id }]])
  })

  it('a call to Postgres sends the queries of a client one after the other', async () => {
    const client = new pg.Client(url)
    await client.connect()
    const store = bed.storeOn(client)
    await store.read([])
    const { query } = client
    let running = 0
    let most = 0
    client.query = (async (...args: Parameters<typeof query>) => {
      most = Math.max(most, ++running)
      const result = await Reflect.apply(query, client, args)
      running--
      return result
    }) as typeof query
    await Promise.all(Array.from({ length: 10 }, (_, n) => grab(store, `r${n}`)))
    expect(most).toBe(1)
    await client.end()
  })
})

describe('a Postgres server', () => {
  let server: Server
  let bed: Bed
  beforeAll(async () => {
    server = await startServer('postgres')
  })
  afterAll(() => server.stop())
  beforeEach(async () => {
    bed = await makeBed(server.address)
    bed.admin.on('error', () => {})
  })
  afterEach(() => bed.close())

  it('a Postgres server that crashed and restarted gets its waiters and watchers back', async () => {
    const watched = bed.store()
    const seen: string[] = []
    await watched.watch((event) => seen.push(event.type === 'gap' ? 'gap' : event.lease.state))
    // The waiter's clock stands still, so that only the store can wake it.
    const clock = new FakeClock()
    const holding = createLeases(bed.store())
    const waiting = createLeases(bed.store(), { clock, retry: () => 0 })
    const lease = await holding.acquire('r', { ttl: 600_000, heartbeat: false })
    const turn = waiting.acquire('r', { wait: Infinity })
    await expect.poll(() => bed.listeners()).toBe(3)
    await server.restart()
    await expect.poll(() => seen).toContain('gap')
    await using after = await makeBed(server.address)
    await eventually(async () => {
      const { rowCount } = await after.admin.query(
        `select from ${bed.table}_waiters join pg_stat_activity a using (pid)
         where a.application_name = $1 and ${LISTENS}`,
        [bed.schema],
      )
      expect(rowCount).toBe(1)
    })
    expect(lease.held).toBe(true)
    await lease.release()
    const next = await turn
    expect(next.token).toBeGreaterThan(lease.token)
    await expect.poll(() => seen.slice(-2)).toEqual(['released', 'held'])
    await Promise.all([holding.close(), waiting.close()])
  })

  it('a Postgres server that crashed does not end the process, even if nobody listens to the errors of the client', async () => {
    const pool = new pg.Pool({ connectionString: server.address })
    const store = bed.storeOn(pool)
    const { token } = await grab(store, 'r')
    await server.restart()
    await expect.poll(() => store.read(['r']).catch(() => [])).toMatchObject([[{ token }]])
    await store.close()
    expect(pool.listenerCount('error')).toBe(0)
    await pool.end()
  })

  it('a Postgres server that became a standby is unavailable, until it is the primary again', async () => {
    const store = bed.store()
    const { id } = await grab(store, 'r')
    const { rows } = await bed.admin.query('show data_directory')
    await writeFile(join(rows[0].data_directory, 'standby.signal'), '', { mode: 0o666 })
    await server.restart()
    const code = 'store-unavailable'
    await expect.poll(() => store.read(['r']).catch(() => [])).toMatchObject([[{ id }]])
    await expect(store.acquire(asking('r'))).rejects.toMatchObject({
      code,
      message: expect.stringContaining('; connect to the primary server'),
    })
    await expect(store.watch(() => {})).rejects.toMatchObject({ code })
    await expect(store.check?.()).rejects.toMatchObject({
      code,
      message: expect.stringContaining('this server is a standby; connect to the primary server'),
    })
    await using primary = await makeBed(server.address)
    await primary.admin.query('select pg_promote()')
    await expect.poll(() => store.check?.().then(() => 'works', String)).toBe('works')
    expect(await store.renew({ resource: 'r', id, ttl: 1000 })).toMatchObject({ ok: true })
  })

  it('a Postgres server that stops answering on one connection loses that connection, and the next call succeeds', async () => {
    const store = bed.storeOn(bed.pool({ max: 1 }))
    await grab(store, 'r')
    const { rows } = await bed.admin.query(`select pid from pg_stat_activity where application_name = $1`, [
      bed.schema,
    ])
    process.kill(rows[0].pid, 'SIGSTOP')
    try {
      await expect(store.read(['r'])).rejects.toMatchObject({ code: 'store-unavailable' })
      expect(await store.read(['r'])).toMatchObject([[{ resource: 'r' }]])
    } finally {
      process.kill(rows[0].pid, 'SIGCONT')
    }
  })
})
