/** A `Client` on which the user may have a transaction. What a store wrote in it would be undone with it. */
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { LeaseStore } from '../../../src/core/index.ts'
import { asking, grab } from '../asking.ts'
import { type Bed, makeBed } from './bed.ts'

const { HOLDFAST_TEST_POSTGRES_URL: url = '' } = process.env
const REFUSED = {
  code: 'store-failed',
  message: expect.stringContaining('this Client is inside a transaction of yours'),
}

describe.each([
  ['', (client: pg.Client) => client],
  // It does not have this method.
  [' of an older pg', (client: pg.Client) => Object.assign(client, { getTransactionStatus: undefined })],
])('a Client%s', (_, made) => {
  let bed: Bed
  let client: pg.Client
  let store: LeaseStore
  beforeEach(async () => {
    bed = await makeBed(url)
    client = made(new pg.Client(url))
    client.on('error', () => {})
    await client.connect()
    store = bed.storeOn(client)
    await store.read([])
  })
  afterEach(async () => {
    await client.end()
    await bed[Symbol.asyncDispose]()
  })

  it('a Client inside a transaction is refused, until the transaction ends', async () => {
    await client.query('begin')
    await expect(store.acquire(asking('r'))).rejects.toMatchObject(REFUSED)
    await client.query('select 1 / 0').catch(() => {})
    await expect(store.read(['r'])).rejects.toMatchObject(REFUSED)
    await client.query('rollback')
    expect(await store.acquire(asking('r'))).toMatchObject({ granted: true })
  })

  it('a Client that begins a transaction at the same moment is refused', async () => {
    const beginning = client.query('begin')
    await expect(store.acquire(asking('r'))).rejects.toMatchObject(REFUSED)
    await beginning
    const ending = client.query('commit')
    expect(await store.acquire(asking('r'))).toMatchObject({ granted: true })
    await ending
  })

  it('a Client whose user sends one query after the other serves the store in between', async () => {
    let isOver = false
    const querying = (async () => {
      while (!isOver) await client.query('select 1')
    })()
    await grab(store, 'r')
    isOver = true
    await querying
  })

  it('a Client that was connecting when the store was used waits for the connection', async () => {
    const fresh = made(new pg.Client(url))
    const early = bed.storeOn(fresh)
    const connecting = fresh.connect()
    const beginning = fresh.query('begin')
    await expect(early.acquire(asking('r'))).rejects.toMatchObject(REFUSED)
    await Promise.all([connecting, beginning, fresh.query('rollback')])
    await grab(early, 'r')
    await fresh.end()
  })

  it('a Client that ends while a query of its user is under way fails for good', async () => {
    const sleeping = client.query('select pg_sleep(60)').catch(() => {})
    const reading = store.read(['r'])
    reading.catch(() => {})
    const { processID } = client as unknown as { readonly processID: number }
    await bed.admin.query('select pg_terminate_backend($1)', [processID])
    await expect(reading).rejects.toMatchObject({ code: 'store-failed' })
    await sleeping
  })
})
