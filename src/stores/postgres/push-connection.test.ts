import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { pushOnFakeServer } from '../../../test/stores/postgres/push-on-fake-server.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('the listening connection of a Postgres store', () => {
  it('the listening connection of a Postgres store is opened once for everybody, and has an address', async () => {
    const { server, push } = pushOnFakeServer()
    await Promise.all([push.openWithin(100), push.openWithin(100)])
    expect(push.address).toMatch(/^holdfast_\w{32} 7 5$/)
    expect(server).toMatchObject({ attempts: 1, open: 1 })
  })

  it('the listening connection of a Postgres store has only its channel as its address if the number of its process cannot be one', async () => {
    const { server, push } = pushOnFakeServer()
    server.pid = 2_321_357_324
    expect(await push.openWithin(100)).toBe(true)
    expect(push.address).toMatch(/^holdfast_\w{32}$/)
    expect(server.probedPids).toEqual([null])
  })

  it('the listening connection of a Postgres store says once why waiters poll, and again if that was better in between', async () => {
    const { server, push, drop, wait } = pushOnFakeServer()
    wait()
    await push.openWithin(100)
    expect(push.takePollingReason()).toBe(null)
    for (let n = 0; n < 2; n++) {
      server.away = true
      drop()
      await vi.advanceTimersByTimeAsync(1000)
      expect(push.takePollingReason()).toMatchObject({ message: expect.stringContaining('ECONNREFUSED') })
      expect(push.takePollingReason()).toBe(null)
      server.away = false
      await vi.advanceTimersByTimeAsync(5000)
      expect(push.isOpen).toBe(true)
    }
  })

  it('the listening connection of a Postgres store is retried with longer pauses while somebody needs it', async () => {
    const { server, push, wait } = pushOnFakeServer()
    server.away = true
    wait()
    expect(await push.openWithin(100)).toBe(false)
    await vi.advanceTimersByTimeAsync(20_000)
    expect(server.attempts).toBeGreaterThan(3)
    expect(server.attempts).toBeLessThan(12)
    server.away = false
    await vi.advanceTimersByTimeAsync(5000)
    expect(push.isOpen).toBe(true)
  })

  it('the listening connection of a Postgres store is not retried when nobody needs it, and opened again for the next caller', async () => {
    const { server, push } = pushOnFakeServer()
    server.away = true
    expect(await push.openWithin(100)).toBe(false)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(server.attempts).toBe(1)
    server.away = false
    expect(await push.openWithin(100)).toBe(true)
  })

  it('the listening connection of a Postgres store is opened again after it broke, and wakes all waiters', async () => {
    const { server, push, wait, drop, told } = pushOnFakeServer()
    await push.openWithin(100)
    wait()
    told.length = 0
    drop()
    expect(push.isOpen).toBe(false)
    await vi.advanceTimersByTimeAsync(50)
    expect(push.isOpen).toBe(true)
    expect(told).toEqual(['waiter wake 0'])
    expect(server).toMatchObject({ attempts: 2, open: 1 })
  })

  it('the listening connection of a Postgres store is given up for a while if it delivers nothing', async () => {
    const { server, push, wait } = pushOnFakeServer()
    server.delivers = false
    wait()
    const opening = push.openWithin(60_000)
    await vi.advanceTimersByTimeAsync(2001)
    expect(await opening).toBe(false)
    expect(push.cannotListen).toBe(true)
    expect(await push.openWithin(60_000)).toBe(false)
    await expect(push.watch(() => {}, '')).rejects.toMatchObject({
      code: 'store-failed',
      message: expect.stringContaining('pass a direct one with the option listen'),
    })
    await vi.advanceTimersByTimeAsync(20_000)
    expect(server).toMatchObject({ attempts: 1, open: 0 })
    server.delivers = true
    await vi.advanceTimersByTimeAsync(15_000)
    expect(push.cannotListen).toBe(false)
    expect(push.isOpen).toBe(true)
  })

  it('the listening connection of a Postgres store is not given up when the process stood still until the time for the probe was over', async () => {
    const { server, push, deliver } = pushOnFakeServer()
    server.delivers = false
    const opening = push.openWithin(60_000)
    await vi.advanceTimersByTimeAsync(2000)
    deliver()
    expect(await opening).not.toBe(null)
    expect(push.cannotListen).toBe(false)
  })

  it('the listening connection of a Postgres store is opened for the next caller if it delivered nothing a while ago', async () => {
    const { server, push } = pushOnFakeServer()
    server.delivers = false
    const opening = push.openWithin(60_000)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(await opening).toBe(false)
    server.delivers = true
    expect(await push.openWithin(100)).toBe(true)
  })

  it('the listening connection of a Postgres store is checked every ten seconds, and closed if it delivers nothing any more', async () => {
    const { server, push, wait } = pushOnFakeServer()
    await push.openWithin(100)
    wait()
    await vi.advanceTimersByTimeAsync(30_000)
    expect(server).toMatchObject({ probes: 4, attempts: 1 })
    server.delivers = false
    await vi.advanceTimersByTimeAsync(12_001)
    expect(push.isOpen).toBe(false)
  })

  it('the listening connection of a Postgres store is kept although the process stood still during a check', async () => {
    const { server, push, wait, deliver } = pushOnFakeServer()
    await push.openWithin(100)
    wait()
    server.delivers = false
    await vi.advanceTimersByTimeAsync(12_000)
    deliver()
    await vi.advanceTimersByTimeAsync(1000)
    expect(push.isOpen).toBe(true)
    expect(server.attempts).toBe(1)
  })

  it('the listening connection of a Postgres store is kept although the ordinary client gets no answer', async () => {
    const { server, push, wait } = pushOnFakeServer()
    await push.openWithin(100)
    wait()
    server.away = true
    await vi.advanceTimersByTimeAsync(30_000)
    expect(push.isOpen).toBe(true)
  })

  it('the listening connection of a Postgres store is closed soon after nobody needs it', async () => {
    const { server, push, wait } = pushOnFakeServer()
    await push.openWithin(100)
    wait()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(server.open).toBe(1)
    push.forget('waiter')
    await vi.advanceTimersByTimeAsync(4000)
    expect(push.isOpen).toBe(false)
    expect(server).toMatchObject({ attempts: 1, open: 0 })
    const { probes } = server
    await vi.advanceTimersByTimeAsync(60_000)
    expect(server.probes).toBe(probes)
  })

  it('the listening connection of a Postgres store is closed although the server has stopped', async () => {
    const { server, push } = pushOnFakeServer()
    await push.openWithin(100)
    server.stopped = true
    const closed = push.close()
    await vi.advanceTimersByTimeAsync(1000)
    await closed
  })

  it('the listening connection of a Postgres store is never opened after close, not even when it was about to open', async () => {
    const { server, push } = pushOnFakeServer()
    const opening = push.openWithin(100)
    await push.close()
    expect(await opening).toBe(false)
    expect(await push.openWithin(100)).toBe(false)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(server).toMatchObject({ attempts: 1, open: 0 })
  })
})
