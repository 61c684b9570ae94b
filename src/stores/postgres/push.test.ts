import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ListenerHooks } from '../../clients/postgres.ts'
import type { Ask, Grant, LeaseRecord, Refusal } from '../../core/index.ts'
import { Push } from './push.ts'
import type { Queries } from './queries.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const LONG_MS = 60_000
const CHANNEL = 'holdfast_changes'

/** A store's push on a server that can be away, or deliver nothing. */
function setUp() {
  const server = {
    away: false,
    delivers: true,
    stopped: false,
    lapsed: true,
    /** Whether the query that has changes announced fails. */
    watchFails: false,
    attempts: 0,
    open: 0,
    probes: 0,
    registered: [] as string[],
    ended: [] as string[],
    watches: 0,
    channels: [] as string[],
    keepsAlive: false,
  }
  let hooks: ListenerHooks | undefined
  let deliver = () => {}
  const answer = () => {
    if (server.away) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  }
  const queries: Partial<Queries> = {
    async probe(channel, payload) {
      answer()
      server.probes++
      deliver = () => hooks?.notified(channel, payload)
      if (server.delivers) deliver()
      return 5
    },
    async register(leases) {
      answer()
      server.registered.push(...leases.map(({ id }) => id))
      return server.ended
    },
    async watch() {
      answer()
      if (server.watchFails) throw new Error('watch')
      server.watches++
      const { lapsed } = server
      server.lapsed = false
      return { channel: CHANNEL, lapsed }
    },
    writers: async () => [],
  }
  const push = new Push(
    async (given) => {
      server.attempts++
      answer()
      server.open++
      hooks = given
      return {
        pid: 7,
        listen: async (channel) => void server.channels.push(channel),
        unlisten: async (channel) => void server.channels.splice(server.channels.indexOf(channel), 1),
        keepAlive: (wanted) => {
          server.keepsAlive = wanted
        },
        close: () => {
          server.open--
          return server.stopped ? new Promise(() => {}) : Promise.resolve()
        },
      }
    },
    async (work) => work(queries as Queries),
  )
  const told: string[] = []
  const ask = (id: string): Ask => ({
    ...{ resource: 'r', id, owner: 'Mika', ttl: LONG_MS },
    wake: (inMs) => told.push(`${id} wake ${inMs}`),
    lost: () => told.push(`${id} lost`),
  })
  return {
    server,
    push,
    told,
    ask,
    drop: () => hooks?.dropped(),
    deliver: () => deliver(),
    send: (payload: string, channel = 'holdfast_own') => hooks?.notified(channel, payload),
    /** Somebody waits, so that the connection is needed. */
    wait: () => push.refused(ask('waiter'), QUEUED, null),
  }
}

const QUEUED: Refusal = { granted: false, holder: null, place: 0, retryIn: null }

function grant(id: string, token = 1): Grant {
  const lease: LeaseRecord = {
    ...{ resource: 'r', id, owner: 'Mika', token, metadata: null },
    ...{ acquiredAt: 0, expiresAt: LONG_MS, remaining: LONG_MS, state: 'held' },
  }
  return { granted: true, lease }
}

describe('the listening connection of a Postgres store', () => {
  it('is opened once for everybody, and has an address', async () => {
    const { server, push } = setUp()
    const addresses = await Promise.all([push.openWithin(100), push.openWithin(100)])
    expect(addresses[0]).toMatch(/^holdfast_\w{32} 7 5$/)
    expect(addresses[1]).toBe(addresses[0])
    expect(server).toMatchObject({ attempts: 1, open: 1 })
  })

  it('is retried with longer pauses while somebody needs it', async () => {
    const { server, push, wait } = setUp()
    server.away = true
    wait()
    expect(await push.openWithin(100)).toBe(null)
    await vi.advanceTimersByTimeAsync(20_000)
    expect(server.attempts).toBeGreaterThan(3)
    expect(server.attempts).toBeLessThan(12)
    server.away = false
    await vi.advanceTimersByTimeAsync(5000)
    expect(push.address).not.toBe(null)
  })

  it('is not retried when nobody needs it, and opened again for the next caller', async () => {
    const { server, push } = setUp()
    server.away = true
    expect(await push.openWithin(100)).toBe(null)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(server.attempts).toBe(1)
    server.away = false
    expect(await push.openWithin(100)).not.toBe(null)
  })

  it('is opened again after it broke, and wakes all waiters', async () => {
    const { server, push, wait, drop, told } = setUp()
    await push.openWithin(100)
    wait()
    told.length = 0
    drop()
    expect(push.address).toBe(null)
    await vi.advanceTimersByTimeAsync(50)
    expect(push.address).not.toBe(null)
    expect(told).toEqual(['waiter wake 0'])
    expect(server).toMatchObject({ attempts: 2, open: 1 })
  })

  it('is given up for a while if it delivers nothing', async () => {
    const { server, push, wait } = setUp()
    server.delivers = false
    wait()
    const opening = push.openWithin(60_000)
    await vi.advanceTimersByTimeAsync(2001)
    expect(await opening).toBe(null)
    expect(push.cannotListen).toBe(true)
    expect(await push.openWithin(60_000)).toBe(null)
    await expect(push.watch(() => {}, '')).rejects.toMatchObject({
      code: 'store-failed',
      message: expect.stringContaining('pass a direct one with the option listen'),
    })
    await vi.advanceTimersByTimeAsync(20_000)
    expect(server).toMatchObject({ attempts: 1, open: 0 })
    server.delivers = true
    await vi.advanceTimersByTimeAsync(15_000)
    expect(push.cannotListen).toBe(false)
    expect(push.address).not.toBe(null)
  })

  it('is not given up when the process stood still until the time for the probe was over', async () => {
    const { server, push, deliver } = setUp()
    server.delivers = false
    const opening = push.openWithin(60_000)
    await vi.advanceTimersByTimeAsync(2000)
    deliver()
    expect(await opening).not.toBe(null)
    expect(push.cannotListen).toBe(false)
  })

  it('is opened for the next caller if it delivered nothing a while ago', async () => {
    const { server, push } = setUp()
    server.delivers = false
    const opening = push.openWithin(60_000)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(await opening).toBe(null)
    server.delivers = true
    expect(await push.openWithin(100)).not.toBe(null)
  })

  it('is checked every ten seconds, and closed if it delivers nothing any more', async () => {
    const { server, push, wait } = setUp()
    await push.openWithin(100)
    wait()
    await vi.advanceTimersByTimeAsync(30_000)
    expect(server).toMatchObject({ probes: 4, attempts: 1 })
    server.delivers = false
    await vi.advanceTimersByTimeAsync(12_001)
    expect(push.address).toBe(null)
  })

  it('is kept although the process stood still during a check', async () => {
    const { server, push, wait, deliver } = setUp()
    await push.openWithin(100)
    wait()
    server.delivers = false
    await vi.advanceTimersByTimeAsync(12_000)
    deliver()
    await vi.advanceTimersByTimeAsync(1000)
    expect(push.address).not.toBe(null)
    expect(server.attempts).toBe(1)
  })

  it('is kept although the ordinary client gets no answer', async () => {
    const { server, push, wait } = setUp()
    await push.openWithin(100)
    wait()
    server.away = true
    await vi.advanceTimersByTimeAsync(30_000)
    expect(push.address).not.toBe(null)
  })

  it('is closed soon after nobody needs it', async () => {
    const { server, push, wait } = setUp()
    await push.openWithin(100)
    wait()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(server.open).toBe(1)
    push.forget('waiter')
    await vi.advanceTimersByTimeAsync(4000)
    expect(push.address).toBe(null)
    expect(server).toMatchObject({ attempts: 1, open: 0 })
    const { probes } = server
    await vi.advanceTimersByTimeAsync(60_000)
    expect(server.probes).toBe(probes)
  })

  it('is closed although the server has stopped', async () => {
    const { server, push } = setUp()
    await push.openWithin(100)
    server.stopped = true
    const closed = push.close()
    await vi.advanceTimersByTimeAsync(1000)
    await closed
  })

  it('is never opened after close, not even when it was about to open', async () => {
    const { server, push } = setUp()
    const opening = push.openWithin(100)
    await push.close()
    expect(await opening).toBe(null)
    expect(await push.openWithin(100)).toBe(null)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(server).toMatchObject({ attempts: 1, open: 0 })
  })
})

describe('a waiter of a Postgres store', () => {
  it('is woken at once if the connection was opened while its request was under way', async () => {
    const { push, ask, told } = setUp()
    const address = await push.openWithin(100)
    push.refused(ask('polls'), QUEUED, null)
    push.expect(ask('has an address'))
    push.refused(ask('has an address'), QUEUED, address)
    expect(told).toEqual(['polls wake 0'])
  })
})

describe('a holder of a Postgres store', () => {
  it('has its connection after 200 ms, and its row the address', async () => {
    const { server, push, ask } = setUp()
    push.granted(ask('a'), grant('a'), null)
    await vi.advanceTimersByTimeAsync(199)
    expect(server.attempts).toBe(0)
    await vi.advanceTimersByTimeAsync(1)
    expect(server).toMatchObject({ attempts: 1, registered: ['a'] })
  })

  it('is registered again only on a new connection', async () => {
    const { server, push, ask, drop } = setUp()
    const address = await push.openWithin(100)
    push.expect(ask('a'))
    push.granted(ask('a'), grant('a'), address)
    await vi.advanceTimersByTimeAsync(30_000)
    expect(server.registered).toEqual([])
    drop()
    await vi.advanceTimersByTimeAsync(30_000)
    expect(server.registered).toEqual(['a'])
  })

  it('is told if its lease was ended before it was registered', async () => {
    const { server, push, ask, told } = setUp()
    server.ended = ['a']
    push.granted(ask('a'), grant('a'), null)
    push.granted(ask('b'), grant('b'), null)
    await vi.advanceTimersByTimeAsync(200)
    expect(told).toEqual(['a lost'])
  })

  it('is told of an end that arrives before the grant', async () => {
    const { push, ask, told, send } = setUp()
    const address = await push.openWithin(100)
    push.expect(ask('a'))
    send('lost a')
    expect(told).toEqual([])
    push.granted(ask('a'), grant('a'), address)
    expect(told).toEqual(['a lost'])
  })

  it('does not lose its lease by a late notification about its previous one', async () => {
    const { push, ask, told, send } = setUp()
    const address = await push.openWithin(100)
    push.expect(ask('a'))
    push.refused(ask('a'), QUEUED, address)
    send('lost a')
    push.expect(ask('a'))
    push.granted(ask('a'), grant('a', 2), address)
    expect(told).toEqual([])
  })
})

describe('a watcher of a Postgres store', () => {
  it('keeps the process alive and the changes announced until it is disposed of', async () => {
    const { server, push } = setUp()
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

  it('stays when another one is disposed of twice', async () => {
    const { server, push } = setUp()
    await push.watch(() => {}, '')
    const other = await push.watch(() => {}, '')
    for (let n = 0; n < 2; n++) await other[Symbol.asyncDispose]()
    expect(server).toMatchObject({ keepsAlive: true, open: 1 })
  })

  it('hears of a gap after a new connection, also if that took several attempts', async () => {
    const { server, push, drop } = setUp()
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

  it('is served again by a later check if that failed on a new connection', async () => {
    const { server, push, drop } = setUp()
    const events: string[] = []
    await push.watch(({ type }) => events.push(type), '')
    server.watchFails = true
    drop()
    await vi.advanceTimersByTimeAsync(1000)
    expect(push.address).not.toBe(null)
    server.watchFails = false
    server.channels = []
    await vi.advanceTimersByTimeAsync(10_000)
    expect(server.channels).toEqual([CHANNEL])
    expect(events).toEqual(['gap'])
  })
})
