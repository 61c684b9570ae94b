import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  CHANNEL,
  grant,
  pushOnFakeServer,
  QUEUED,
} from '../../../test/stores/postgres/push-on-fake-server.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('a waiter of a Postgres store', () => {
  it('a waiter of a Postgres store is woken at once if the connection was opened while its request was under way', async () => {
    const { push, ask, told } = pushOnFakeServer()
    const { address } = push
    push.expect(ask('asked before'))
    await push.openWithin(100)
    expect(told).toEqual([])
    push.refused(ask('asked before'), QUEUED, address)
    push.expect(ask('asked afterwards'))
    push.refused(ask('asked afterwards'), QUEUED, push.address)
    expect(told).toEqual(['asked before wake 0'])
  })

  it('a waiter of a Postgres store gives its place back if nobody waits for the answer any more', async () => {
    const { server, push, ask, told, send } = pushOnFakeServer()
    await push.openWithin(100)
    push.expect(ask('waits'))
    for (const id of ['waits', 'gave up']) send(JSON.stringify({ wake: 0, resource: 'r', id }))
    expect(told).toEqual(['waits wake 0'])
    expect(server.abandoned).toEqual(['r gave up'])
  })
})

describe('a holder of a Postgres store', () => {
  it('a holder of a Postgres store has its connection after 200 ms, and its row the address', async () => {
    const { server, push, ask } = pushOnFakeServer()
    push.expect(ask('a'))
    push.granted(ask('a'), grant('a'), push.address)
    await vi.advanceTimersByTimeAsync(199)
    expect(server.attempts).toBe(0)
    await vi.advanceTimersByTimeAsync(1)
    expect(server).toMatchObject({ attempts: 1, registered: ['a'] })
  })

  it('a holder of a Postgres store has its connection checked every 30 s, and every 10 s once somebody waits', async () => {
    const { server, push, ask } = pushOnFakeServer()
    await push.openWithin(100)
    push.expect(ask('a'))
    push.granted(ask('a'), grant('a'), push.address)
    const probes = async (ms: number) => {
      const before = server.probes
      await vi.advanceTimersByTimeAsync(ms)
      return server.probes - before
    }
    expect([await probes(25_000), await probes(10_000)]).toEqual([0, 1])
    push.expect(ask('waits'))
    push.refused(ask('waits'), QUEUED, push.address)
    expect([await probes(10_000), await probes(10_000)]).toEqual([1, 1])
  })

  it('a holder of a Postgres store is registered again only on a new connection', async () => {
    const { server, push, ask, drop } = pushOnFakeServer()
    await push.openWithin(100)
    push.expect(ask('a'))
    push.granted(ask('a'), grant('a'), push.address)
    await vi.advanceTimersByTimeAsync(30_000)
    expect(server.registered).toEqual([])
    drop()
    await vi.advanceTimersByTimeAsync(30_000)
    expect(server.registered).toEqual(['a'])
  })

  it('a holder of a Postgres store is told if its lease was ended before it was registered', async () => {
    const { server, push, ask, told } = pushOnFakeServer()
    server.ended = ['a']
    push.expect(ask('a'))
    push.granted(ask('a'), grant('a'), push.address)
    push.expect(ask('b'))
    push.granted(ask('b'), grant('b'), push.address)
    await vi.advanceTimersByTimeAsync(200)
    expect(told).toEqual(['a lost'])
  })

  it('a holder of a Postgres store is told of an end that arrives before the grant', async () => {
    const { push, ask, told, send } = pushOnFakeServer()
    await push.openWithin(100)
    push.expect(ask('a'))
    send('{"lost":"a","token":1}')
    expect(told).toEqual([])
    push.granted(ask('a'), grant('a'), push.address)
    expect(told).toEqual(['a lost'])
  })

  it('a holder of a Postgres store does not lose its lease by a late notification about its previous one', async () => {
    const { push, ask, told, send } = pushOnFakeServer()
    await push.openWithin(100)
    push.expect(ask('a'))
    push.refused(ask('a'), QUEUED, push.address)
    push.expect(ask('a'))
    send('{"lost":"a","token":1}')
    push.granted(ask('a'), grant('a', 2), push.address)
    send('{"lost":"a","token":1}')
    expect(told).toEqual([])
  })
})

describe('a watcher of a Postgres store', () => {
  it('a watcher of a Postgres store keeps the process alive and the changes announced until it is disposed of', async () => {
    const { server, push } = pushOnFakeServer()
    const watch = await push.watch(() => {}, '')
    expect(server).toMatchObject({ keepsAlive: true, watches: 1 })
    expect(server.channels).toContain(CHANNEL)
    await vi.advanceTimersByTimeAsync(20_000)
    expect(server.watches).toBe(3)
    for (let n = 0; n < 2; n++) await watch[Symbol.asyncDispose]()
    expect(server.keepsAlive).toBe(false)
    expect(server.channels).not.toContain(CHANNEL)
    await vi.advanceTimersByTimeAsync(20_000)
    expect(server).toMatchObject({ watches: 3, open: 0 })
  })

  it('a watcher of a Postgres store stays when another one is disposed of twice', async () => {
    const { server, push } = pushOnFakeServer()
    await push.watch(() => {}, '')
    const other = await push.watch(() => {}, '')
    for (let n = 0; n < 2; n++) await other[Symbol.asyncDispose]()
    expect(server).toMatchObject({ keepsAlive: true, open: 1 })
  })

  it('hears of a gap after a new connection, also if that took several attempts', async () => {
    const { server, push, drop } = pushOnFakeServer()
    const events: string[] = []
    await push.watch(({ type }) => events.push(type), '')
    expect(events).toEqual([])
    server.away = true
    drop()
    await vi.advanceTimersByTimeAsync(5000)
    expect(events).toEqual([])
    server.away = false
    await vi.advanceTimersByTimeAsync(5000)
    expect(events).toEqual(['gap'])
  })

  it('a watcher of a Postgres store is served again by a later check if that failed on a new connection', async () => {
    const { server, push, drop } = pushOnFakeServer()
    const events: string[] = []
    await push.watch(({ type }) => events.push(type), '')
    server.watchFails = true
    drop()
    await vi.advanceTimersByTimeAsync(1000)
    expect(push.isOpen).toBe(true)
    server.watchFails = false
    server.channels = []
    await vi.advanceTimersByTimeAsync(10_000)
    expect(server.channels).toEqual([CHANNEL])
    expect(events).toEqual(['gap'])
  })
})
