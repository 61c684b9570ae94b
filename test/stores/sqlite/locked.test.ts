import { performance } from 'node:perf_hooks'
import { describe, expect, it } from 'vitest'
import { quantile } from '../../../bench/measure.ts'
import { FakeClock } from '../../../src/testing/index.ts'
import { asking, failure, granted } from '../asking.ts'
import { DatabaseFile } from './database-file.ts'

const LOCKED_FOR_MS = 1000
const TICK_MS = 10
const LAG_MS = 50

describe('while another connection has the write lock', () => {
  it('the event loop goes on, and calls are served in their order once it is free', async () => {
    await using file = new DatabaseFile()
    const store = file.store()
    const other = file.connect()
    await store.acquire(asking('before'))
    other.exec('BEGIN IMMEDIATE')
    setTimeout(() => other.exec('COMMIT'), LOCKED_FOR_MS)

    const lags = lagsOfTimer()
    const loop = performance.eventLoopUtilization()
    const served: number[] = []
    const order = Array.from({ length: 50 }, (_, n) => n)
    await Promise.all(
      order.map(async (n) => {
        granted(await store.acquire(asking(`resource ${n}`)))
        served.push(n)
      }),
    )
    // A busy timeout of SQLite would keep the loop busy all the time, and make timers late by as long.
    expect(performance.eventLoopUtilization(loop).utilization).toBeLessThan(0.5)
    // Not the worst of them: the machine may have other work.
    expect(quantile(lags.stop(), 0.9)).toBeLessThan(LAG_MS)
    expect(served).toEqual(order)
  })

  it('who comes when it is free again does not overtake those who wait', async () => {
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

  it('reads go on, and a call that stays refused is retryable', async () => {
    await using file = new DatabaseFile()
    const clock = new FakeClock()
    const store = file.store({ clock })
    const { id } = granted(await store.acquire(asking('held')))
    file.connect().exec('BEGIN EXCLUSIVE')

    const refused = failure(store.acquire(asking('other')))
    expect(await store.read(['held'])).toMatchObject([{ id }])
    expect(await store.list({ limit: 10 })).toMatchObject({ leases: [{ id }] })
    await clock.advance(5000)
    expect(await refused).toMatchObject({ code: 'store-unavailable', retryable: true })
  })

  it('an aborted call ends at once, and does not happen later', async () => {
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
    expect(await store.read(['aborted'])).toEqual([null])
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
    for (const error of await Promise.all(calls)) expect(error.code).toBe('closed')
  })
})

/** By how much each tick of a timer comes late. */
function lagsOfTimer(): { stop(): number[] } {
  const lags: number[] = []
  let last = performance.now()
  const tick = () => {
    const now = performance.now()
    lags.push(now - last - TICK_MS)
    last = now
  }
  const timer = setInterval(tick, TICK_MS)
  return {
    stop: () => {
      clearInterval(timer)
      tick()
      return lags
    },
  }
}
