import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { LeaseStore, StoreEvent } from '../../../src/core/index.ts'
import { eventually } from '../../eventually.ts'
import { asking, grab } from '../asking.ts'
import { ownSystemClock } from '../own-clock.ts'
import { type Bed, LISTENS, makeBed } from './bed.ts'

const { HOLDFAST_TEST_POSTGRES_URL: url = '' } = process.env

let bed: Bed
let store: LeaseStore
beforeEach(async () => {
  bed = await makeBed(url)
  store = bed.store()
  await store.read([])
})
afterEach(() => bed[Symbol.asyncDispose]())

const show = (event: StoreEvent) =>
  event.type === 'gap' ? 'gap' : `${event.lease.resource} ${event.lease.state}`

async function cycle(resource: string, more = {}): Promise<void> {
  const { id } = await grab(store, resource, more)
  await store.release({ resource, id })
}

describe('watching leases in Postgres', () => {
  it('watching leases in Postgres costs nothing while nobody watches or waits', async () => {
    const { rows } = await bed.admin.query(`select watch_channel from ${bed.table}_meta`)
    const heard: string[] = []
    bed.admin.on('notification', ({ payload = '' }) => heard.push(payload))
    await bed.admin.query(`listen ${rows[0].watch_channel}`)
    await cycle('unwatched')
    await bed.admin.query('select 1')
    expect(heard).toEqual([])
    const watch = await bed.store().watch(() => {})
    await cycle('watched')
    await expect.poll(() => heard.length).toBe(2)
    await watch[Symbol.asyncDispose]()
    await bed.admin.query(`update ${bed.table}_meta set watch_until = 0`)
    await cycle('unwatched again')
    await bed.admin.query('select 1')
    expect(heard).toHaveLength(2)
  })

  it('watching leases in Postgres begins after the transactions that could not see the watcher have ended', async () => {
    await cycle('r')
    const unaware = new pg.Client(url)
    await unaware.connect()
    try {
      await unaware.query('begin')
      await unaware.query(`select ${bed.table}_acquire('r', 'a', 'Mika', 60000, null, null, false, null)`)
      const clock = ownSystemClock()
      let began = false
      const beginning = store
        .watch(() => {})
        .then(() => {
          began = true
        })
      await expect.poll(() => bed.listeners()).toBe(1)
      for (let looks = 0; looks < 20; looks++) {
        await clock.advance(10)
        await bed.admin.query('select 1')
      }
      expect(began).toBe(false)
      await unaware.query('commit')
      await eventually(async () => {
        await clock.advance(10)
        expect(began).toBe(true)
      })
      await beginning
      expect(await store.read(['r'])).toMatchObject([[{ id: 'a' }]])
    } finally {
      await unaware.end()
    }
  })

  it('watching leases in Postgres reads a change that is too long for a notification, and reports a gap if the lease has ended', async () => {
    const seen: string[] = []
    const owners: string[] = []
    await store.watch((event) => {
      seen.push(show(event))
      if (event.type === 'change') owners.push(event.lease.owner)
    })
    const owner = 'Mika'.repeat(2500)
    const { id } = await grab(store, 'long', { owner })
    await expect.poll(() => seen).toEqual(['long held'])
    expect(owners).toEqual([owner])
    await store.release({ resource: 'long', id })
    await expect.poll(() => seen).toEqual(['long held', 'gap'])
  })

  it('watching leases in Postgres reports the longest names and metadata', async () => {
    const seen: StoreEvent[] = []
    await store.watch((event) => seen.push(event))
    const metadata = { text: '"'.repeat(2040) }
    const { token } = await grab(store, '"'.repeat(512), { metadata })
    await expect.poll(() => seen).toMatchObject([{ type: 'change', lease: { token, metadata } }])
  })

  it('watching leases in Postgres reports a gap if changes were not announced for a while', async () => {
    const clock = ownSystemClock()
    const seen: string[] = []
    await store.watch((event) => seen.push(show(event)))
    await bed.admin.query(`update ${bed.table}_meta set watch_until = 0`)
    await clock.advance(10_000)
    await expect.poll(() => seen).toEqual(['gap'])
    await cycle('after')
    await expect.poll(() => seen).toEqual(['gap', 'after held', 'after released'])
  })

  it('watching leases in Postgres survives foreign notifications on its channel', async () => {
    const seen: string[] = []
    await store.watch((event) => seen.push(show(event)))
    const { rows } = await bed.admin.query(`select watch_channel from ${bed.table}_meta`)
    for (const payload of ['', 'null', '{', '{"resource":7}', '"text"'])
      await bed.admin.query('select pg_notify($1, $2)', [rows[0].watch_channel, payload])
    await cycle('after')
    await expect.poll(() => seen.slice(-2)).toEqual(['after held', 'after released'])
    expect(seen.slice(0, -2)).toEqual(Array(5).fill('gap'))
  })
})

describe('a holder in Postgres', () => {
  const dropListener = () =>
    bed.admin.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = '${bed.schema}' and ${LISTENS}`)

  it('a holder in Postgres is told of a loss that happened before it listened', async () => {
    let lost = 0
    const { token } = await grab(store, 'r', { lost: () => lost++ })
    await bed.store().release({ resource: 'r', token })
    await expect.poll(() => lost).toBe(1)
  })

  it('a holder in Postgres is told of a loss that happened while it had no connection', async () => {
    let lost = 0
    const { token } = await grab(store, 'r', { lost: () => lost++ })
    await expect.poll(() => bed.listeners()).toBe(1)
    await bed.admin.query('begin')
    await bed.admin.query(`update ${bed.table} set address = null`)
    await dropListener()
    await bed.admin.query(`select ${bed.table}_release('r', null, ${token})`)
    await bed.admin.query('commit')
    await expect.poll(() => lost).toBe(1)
  })

  it('a holder in Postgres is not told of a loss when it repeats its request or releases', async () => {
    let lost = 0
    const ask = asking('r', { lost: () => lost++ })
    await store.acquire(ask)
    await expect.poll(() => bed.listeners()).toBe(1)
    expect(await store.acquire(ask)).toMatchObject({ granted: true })
    await store.release({ resource: 'r', id: ask.id })
    let lostLater = 0
    const { token } = await grab(store, 'r', { lost: () => lostLater++ })
    await dropListener()
    await expect.poll(() => bed.listeners()).toBe(1)
    await bed.store().release({ resource: 'r', token })
    await expect.poll(() => lostLater).toBe(1)
    expect(lost).toBe(0)
  })
})
