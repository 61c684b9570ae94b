import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createLeases, type LeaseStore } from '../../../src/core/index.ts'
import { HANG_MS } from '../../hang-limit.ts'
import { asking, grab } from '../asking.ts'
import { ownSystemClock } from '../own-clock.ts'
import { type Bed, makeBed } from './bed.ts'

const { HOLDFAST_TEST_POSTGRES_URL: url = '' } = process.env

let bed: Bed
let store: LeaseStore
beforeEach(async () => {
  bed = await makeBed(url)
  store = bed.store()
})
afterEach(() => bed[Symbol.asyncDispose]())

/** Joins the queue. `called` resolves when it is the waiter's turn. */
async function enqueue(on: LeaseStore, resource: string) {
  const wakes: number[] = []
  let onCalled = () => {}
  const called = new Promise<void>((resolve) => {
    onCalled = resolve
  })
  const wake = (inMs: number) => {
    wakes.push(inMs)
    if (inMs === 0) onCalled()
  }
  const ask = asking(resource, { wake })
  const { place } = (await on.acquire(ask)) as { place: number }
  return { ask, wakes, called, place }
}

describe('the queue in Postgres', () => {
  it('the queue in Postgres skips all waiters of a killed process at once', async () => {
    const { id } = await grab(store, 'r')
    const child = fork(join(import.meta.dirname, 'waiting-child.ts'), [url, bed.schema, 'r', '5'])
    await once(child, 'message')
    const next = await enqueue(store, 'r')
    expect(next.place).toBe(5)
    child.kill('SIGKILL')
    await once(child, 'exit')
    await expect.poll(() => listeningElsewhere()).toBe(0)
    await store.release({ resource: 'r', id })
    await expect.poll(() => next.wakes).toHaveLength(1)
    // Not 1000, as for the one behind a waiter that may still come.
    expect(next.wakes).toEqual([0])
    expect(await store.acquire(next.ask)).toMatchObject({ granted: true })
  })

  it('the queue in Postgres does not mistake another server process with the same pid for that of the waiter', async () => {
    const { id } = await grab(store, 'r')
    const { rows } = await bed.admin.query('select pg_backend_pid() as pid')
    const ghost = [
      `${bed.table}_acquire('r', 'ghost', 'x', 1000, null, $1, true, null)`,
      `c ${rows[0].pid} 1`,
    ]
    await bed.admin.query(`select ${ghost[0]}`, [ghost[1]])
    const next = await enqueue(store, 'r')
    await store.release({ resource: 'r', id })
    await next.called
  })

  it('the queue in Postgres keeps the place of a waiter whose server process another role cannot inspect', async () => {
    const role = `role_${bed.schema}`
    const { id } = await grab(store, 'r')
    const waiter = await enqueue(bed.store(), 'r')
    await bed.admin.query(`create role ${role}; grant usage on schema ${bed.schema} to ${role};
      grant select, insert, update, delete on all tables in schema ${bed.schema} to ${role};
      set role ${role}`)
    await bed.admin.query(`select ${bed.table}_release('r', $1, null)`, [id])
    await bed.admin.query(`reset role; drop owned by ${role}; drop role ${role}`)
    await waiter.called
    const { rows } = await bed.admin.query(
      `select id from ${bed.table}_waiters where reserved_until is not null`,
    )
    expect(rows).toEqual([{ id: waiter.ask.id }])
  })

  it('the queue in Postgres wakes a waiter that lost its listening connection, and keeps its place', async () => {
    const { id } = await grab(store, 'r')
    await bed.stopClock()
    const peer = bed.store()
    const first = await enqueue(peer, 'r')
    const second = await enqueue(store, 'r')
    await bed.admin.query(`select pg_terminate_backend(pid) from ${bed.table}_waiters order by place limit 1`)
    await first.called
    expect(await peer.acquire(first.ask)).toMatchObject({ granted: false, place: 0 })
    await store.release({ resource: 'r', id })
    expect(await peer.acquire(first.ask)).toMatchObject({ granted: true })
    await peer.release({ resource: 'r', id: first.ask.id })
    await second.called
  })

  it('takes at most three statements per acquisition once the connection is open', async () => {
    // Both clocks stand still: no reservation expires, and no timer repeats a request.
    ownSystemClock()
    await store.read([])
    await bed.stopClock()
    const pool = bed.pool()
    const counted = bed.storeOn(pool)
    const leases = createLeases(counted)
    const holder = await leases.acquire('warm')
    const warm = leases.acquire('warm')
    await expect.poll(() => bed.listeners()).toBe(1)
    await holder.release()
    await (await warm).release()

    let statements = 0
    pool.on('acquire', () => statements++)
    const first = await leases.acquire('r')
    const waiters = Array.from({ length: 20 }, () => leases.withLease('r', async () => {}))
    await expect.poll(() => bed.waiters()).toBe(20)
    const joined = statements
    await first.release()
    await Promise.all(waiters)
    // Requests that join the queue at the same time are sent together.
    expect(joined).toBeLessThanOrEqual(1 + 20)
    // The releases take the store's own connection.
    expect(statements - joined).toBe(20)
    await leases.close()
  })

  it('the queue in Postgres opens no listening connection for short leases that nobody waits for', async () => {
    const clock = ownSystemClock()
    const leases = createLeases(store)
    for (let n = 0; n < 40; n++) await leases.withLease('r', () => clock.advance(20))
    expect(await bed.listeners()).toBe(0)
    await leases.close()
  })

  it('the queue in Postgres listens while somebody waits or holds a lease for long, and not after close', async () => {
    const holding = createLeases(store)
    const lease = await holding.acquire('r')
    await expect.poll(() => bed.listeners()).toBe(1)
    const other = bed.store()
    const waiting = createLeases(other).acquire('r', { wait: HANG_MS })
    await expect.poll(() => bed.listeners()).toBe(2)
    await lease.release()
    await (await waiting).release()
    await Promise.all([store.close(), other.close()])
    await expect.poll(() => bed.listeners()).toBe(0)
  })

  it('the queue in Postgres does not keep a process alive', async () => {
    const file = join(import.meta.dirname, 'finishing-child.ts')
    const child = fork(file, [url, bed.schema, String(10 * HANG_MS)], { timeout: HANG_MS })
    const [exitCode] = await once(child, 'exit')
    expect(exitCode).toBe(0)
  })

  async function listeningElsewhere(): Promise<number | null> {
    const { rowCount } = await bed.admin.query(
      `select from ${bed.table}_waiters join pg_stat_activity using (pid) where application_name <> $1`,
      [bed.schema],
    )
    return rowCount
  }
})
