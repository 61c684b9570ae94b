import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { LeaseStore } from '../../../src/core/index.ts'
import { eventually } from '../../eventually.ts'
import { asking, grab } from '../asking.ts'
import { type Bed, makeBed } from './bed.ts'

const { HOLDFAST_TEST_POSTGRES_URL: url = '' } = process.env

let bed: Bed
let store: LeaseStore
let holder: string
beforeEach(async () => {
  bed = await makeBed(url)
  store = bed.store()
  holder = (await grab(store, 'r')).id
  await bed.stopClock()
})
afterEach(() => bed[Symbol.asyncDispose]())

/** Takes a place as a process at this address would, and is never heard of again. */
async function ghost(id: string, address: string, share: number | null = null): Promise<void> {
  const text = `select ${bed.table}_ask('r', $1, 'ghost', 60000, null, $2, true, null, false, $3, null, null) as answer`
  const { rows } = await bed.admin.query(text, [id, address, share])
  expect(JSON.parse(rows[0].answer)).toMatchObject({ granted: false })
}

/** Joins the queue, and asks again until its process listens. */
async function enqueue(on: LeaseStore, share?: number) {
  const wakes: number[] = []
  const ask = asking('r', { share, wake: (inMs) => wakes.push(inMs) })
  await eventually(async () => {
    expect(await on.acquire(ask)).toMatchObject({ granted: false })
    const { rows } = await bed.admin.query(`select pid from ${bed.table}_waiters where id = $1`, [ask.id])
    expect(rows[0].pid).not.toBe(null)
  })
  wakes.length = 0
  return { ask, wakes }
}

const release = () => store.release({ resource: 'r', id: holder })

describe('waiters that died before they listened', () => {
  it('cost the next one a second in all, however many processes they were', async () => {
    for (let n = 0; n < 20; n++) await ghost(`ghost ${n}`, `channel${n}`)
    const next = await enqueue(store)
    await release()
    // The next one is told when to ask, because none of those before it can be.
    await expect.poll(() => next.wakes).toEqual([1000])
    expect(await store.acquire(next.ask)).toMatchObject({ granted: false, holders: [], place: 20 })
    await bed.passClock(1000)
    expect(await store.acquire(next.ask)).toMatchObject({ granted: true })
    expect(await bed.waiters()).toBe(0)
  })

  it('waiters that died before they listened keep a reservation no longer than their places', async () => {
    await ghost('ghost', 'channel')
    const next = await enqueue(store)
    await bed.passClock(700)
    await release()
    await expect.poll(() => next.wakes).toEqual([300])
    await bed.passClock(300)
    expect(await store.acquire(next.ask)).toMatchObject({ granted: true })
  })

  it('waiters that died before they listened keep their places while they ask again', async () => {
    for (let n = 0; n < 3; n++) {
      await ghost('polls', 'channel')
      await bed.passClock(900)
    }
    const next = await enqueue(store)
    await release()
    expect(await store.acquire(next.ask)).toMatchObject({ granted: false, holders: [], place: 1 })
  })
})

describe('a process that died', () => {
  it('a process that died is not shown as waiting, and neither is a waiter that has not asked in time', async () => {
    await ghost('dead', 'dead 999999 1')
    await ghost('late', 'channel')
    const next = await enqueue(store)
    await ghost('polls', 'channel')
    const waiting = async () => (await store.waiting?.({ resources: ['r'], limit: 5 }))?.[0]
    const { id, owner } = next.ask
    const shown = { id, owner, share: null, place: 1 }
    expect(await waiting()).toMatchObject({ count: 3, first: [{ id: 'late' }, shown, { id: 'polls' }] })
    await bed.passClock(900)
    await ghost('polls', 'channel')
    await bed.passClock(200)
    const polls = { id: 'polls', owner: 'ghost', share: null, place: 1 }
    expect(await waiting()).toEqual({ count: 2, first: [{ ...shown, place: 0 }, polls] })
  })

  it('a process that died loses all its places at once, also those in the middle', async () => {
    await ghost('first', 'dead 999999 1')
    const next = await enqueue(store)
    for (let n = 0; n < 50; n++) await ghost(`ghost ${n}`, `${n % 2 ? 'dead' : `dead${n}`} 999999 1`)
    await release()
    await expect.poll(() => next.wakes).toEqual([0])
    expect(await bed.waiters()).toBe(1)
  })

  it('a process that died gets no part of what those before and behind it share', async () => {
    const first = await enqueue(store, 2)
    await ghost('ghost', 'dead 999999 1', 2)
    const second = await enqueue(store, 2)
    await release()
    await expect.poll(() => [first.wakes, second.wakes]).toEqual([[0], [0]])
    expect(await bed.waiters()).toBe(2)
  })
})

describe('a request that arrives after its caller has given up', () => {
  it('a request that arrives after its caller has given up gives its place back when it has its turn', async () => {
    const next = await enqueue(store)
    const { rows } = await bed.admin.query(
      `select channel || ' ' || pid || ' ' || started as address from ${bed.table}_waiters`,
    )
    await store.release({ resource: 'r', id: next.ask.id })
    await ghost('late', rows[0].address)
    const waiter = await enqueue(store)
    await release()
    // The clock stands still, so no reservation ends by itself.
    await expect.poll(() => waiter.wakes).toContain(0)
    expect(await store.acquire(waiter.ask)).toMatchObject({ granted: true })
  })
})

describe('a long queue', () => {
  const counters = async () => {
    const { rows } = await bed.admin.query(
      `select idx_tup_fetch::integer as fetched, seq_scan::integer as scans from pg_stat_xact_user_tables
       where relid = $1::regclass`,
      [`${bed.table}_waiters`],
    )
    return rows[0] as { readonly fetched: number; readonly scans: number }
  }

  /** The rows that are read to hand the lease over and to join. */
  async function readsWith(waiters: number) {
    await bed.admin.query(
      `truncate ${bed.table}_waiters; update ${bed.table} set first_place = null, last_place = 0`,
    )
    await ghost('first', '')
    await bed.admin.query(
      `insert into ${bed.table}_waiters select 'r', 1 + n, n, '', 'c', null, null, 4e15 from generate_series(1, $1) n`,
      [waiters],
    )
    await bed.admin.query(`update ${bed.table} set last_place = 1 + $1::bigint`, [waiters])
    await bed.admin.query('begin')
    const before = await counters()
    await bed.admin.query(`select ${bed.table}_release('r', $1, null)`, [holder])
    await bed.admin.query(`select ${bed.table}_acquire('r', 'first', 'x', 60000, null, '', true, null)`)
    await bed.admin.query(`select ${bed.table}_acquire('r', 'last', 'x', 60000, null, '', true, null)`)
    const after = await counters()
    await bed.admin.query('rollback')
    return { fetched: after.fetched - before.fetched, scans: after.scans - before.scans }
  }

  it('a long queue is not read as a whole to hand a lease over or to join', async () => {
    const reads = await readsWith(200)
    expect(reads.scans).toBe(0)
    expect(await readsWith(20_000)).toEqual(reads)
  })

  it('a long queue is not read by plans that were made when it was short', async () => {
    const text = `select ${bed.table}_acquire('r', $1, 'x', 60000, null, '', true, null)`
    for (let n = 0; n < 10; n++) await bed.admin.query(text, [`early ${n}`])
    await bed.admin.query(`analyze ${bed.table}_waiters; analyze ${bed.table}`)
    for (let n = 0; n < 10; n++) await bed.admin.query(text, [`later ${n}`])
    await bed.admin.query('begin')
    const { scans } = await counters()
    await bed.admin.query(text, ['last'])
    expect((await counters()).scans).toBe(scans)
    await bed.admin.query('rollback')
  })

  it('a long queue says how many are ahead, exactly as long as few are', async () => {
    for (let n = 0; n < 5; n++) await ghost(`early ${n}`, 'c')
    for (const n of [1, 3]) await store.release({ resource: 'r', id: `early ${n}` })
    expect(await store.acquire(asking('r', { wake: () => {} }))).toMatchObject({ place: 3 })
  })
})
