import { performance } from 'node:perf_hooks'
import { describe, expect, it, onTestFinished } from 'vitest'
import { FakeClock } from '../../../src/testing/index.ts'
import { asking, failure, granted } from '../asking.ts'
import { DatabaseFile } from './database-file.ts'
import { RunningClock } from './running-clock.ts'

const LOCKED_FOR_MS = 1000

describe('while another connection has the write lock', () => {
  it('the event loop is not blocked, and calls are answered in their order after the lock is free', async () => {
    await using file = new DatabaseFile()
    const clock = new RunningClock()
    onTestFinished(() => clock.stop())
    const store = file.store({ clock })
    const other = file.connect()
    await store.acquire(asking('before'))
    other.exec('BEGIN IMMEDIATE')
    const loop = performance.eventLoopUtilization()
    let utilization = 1
    setTimeout(() => {
      utilization = performance.eventLoopUtilization(loop).utilization
      other.exec('COMMIT')
    }, LOCKED_FOR_MS)

    const served: number[] = []
    const order = Array.from({ length: 50 }, (_, n) => n)
    await Promise.all(
      order.map(async (n) => {
        granted(await store.acquire(asking(`resource ${n}`)))
        served.push(n)
      }),
    )
    // A busy timeout of SQLite would keep the loop busy all the time.
    expect(utilization).toBeLessThan(0.5)
    expect(served).toEqual(order)
  })

  it('a call that comes when it is free again does not overtake those that wait', async () => {
    await using file = new DatabaseFile()
    const clock = new FakeClock()
    const store = file.store({ clock })
    await store.read([])
    const other = file.connect()
    other.exec('BEGIN IMMEDIATE')
    const early = store.acquire(asking('wanted'))
    other.exec('COMMIT')
    const late = store.acquire(asking('wanted'))
    await clock.advance(100)
    expect([(await early).granted, (await late).granted]).toEqual([true, false])
  })

  it('reads are answered, and a call that is refused for too long may be retried', async () => {
    await using file = new DatabaseFile()
    const clock = new FakeClock()
    const store = file.store({ clock })
    const { id } = granted(await store.acquire(asking('held')))
    file.connect().exec('BEGIN EXCLUSIVE')

    const refused = failure(store.acquire(asking('other')))
    expect(await store.read(['held'])).toMatchObject([[{ id }]])
    expect(await store.list({ limit: 10 })).toMatchObject({ leases: [{ id }] })
    await clock.advance(5000)
    expect(await refused).toMatchObject({ code: 'store-unavailable', retryable: true })
  })

  it('an aborted call ends at once, and is not carried out later', async () => {
    await using file = new DatabaseFile()
    const clock = new FakeClock()
    const store = file.store({ clock })
    await store.read([])
    const other = file.connect()
    other.exec('BEGIN IMMEDIATE')
    const stop = new AbortController()
    const aborted = failure(store.acquire(asking('aborted'), { signal: stop.signal }))
    const renewal = failure(store.renew({ resource: 'x', id: 'x', ttl: 100 }, { signal: stop.signal }))
    stop.abort('enough')
    expect(await aborted).toMatchObject({ code: 'aborted', cause: 'enough' })
    expect(await renewal).toMatchObject({ code: 'aborted' })
    other.exec('COMMIT')
    await clock.advance(100)
    expect(await store.read(['aborted'])).toEqual([[]])
  })

  it('close ends the calls that wait', async () => {
    await using file = new DatabaseFile()
    const store = file.store()
    await store.read([])
    file.connect().exec('BEGIN IMMEDIATE')
    const calls = [
      store.acquire(asking('a')),
      store.renew({ resource: 'b', id: 'b', ttl: 100 }),
      store.release({ resource: 'c', id: 'c' }),
      store.watch(() => {}),
    ].map(failure)
    await store.close()
    for (const { code } of await Promise.all(calls)) expect(['closed', 'store-unavailable']).toContain(code)
  })
})
