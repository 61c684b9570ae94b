import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer as createHttpServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { type HttpStoreOptions, httpStore } from '../../src/client/http-store.ts'
import { type Ask, createLeases, type LeaseStore, systemClock } from '../../src/core/index.ts'
import { createServer, type HoldfastServer } from '../../src/server/node/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { describeStore, FakeClock, skewDate } from '../../src/testing/index.ts'
import { cuttableProxy } from '../../src/testing/node/cuttable-proxy.ts'
import { eventually } from '../eventually.ts'
import { noticesMistake } from '../stores/notices-mistake.ts'

const TOKEN = 'a-token-of-a-worker'
const SETTINGS = { port: 0, leaseTokens: [TOKEN], rate: 0, logLevel: 'silent' } as const
/** It would wait, but does not ask again. */
const ONE_ATTEMPT = { wait: 60_000, retry: () => null }

const options = {
  runner: { describe, it },
  contention: 100,
  create: openPair,
  reopen: async ({ url, store }: Pair) => {
    await store.close()
    return httpStore(url, { token: TOKEN })
  },
  outage: async ({ proxy }: Pair) => {
    proxy.cut()
    return async () => proxy.mend()
  },
  interruptWatch: async ({ proxy }: Pair) => {
    proxy.cut()
    proxy.mend()
  },
  skewCaller: (_: unknown, ms: number) => skewDate(ms),
}
describeStore('http', options)
noticesMistake('http', 'expiry by the clock of the caller', options)

type Pair = Awaited<ReturnType<typeof openPair>>

describe('httpStore', () => {
  it('httpStore refuses a wrong address', () => {
    expect(() => httpStore('not an address')).toThrow(/url: expected an address/)
  })

  it('httpStore of two nodes: shares are counted together, and watchers hear of each lease once', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'holdfast-nodes-'))
    onTestFinished(() => rm(directory, { recursive: true }))
    const file = join(directory, 'leases.db')
    const stores: LeaseStore[] = []
    for (let n = 0; n < 2; n++) {
      const database = sqliteStore(file)
      const server = await createServer({ store: database, settings: SETTINGS, log: () => {} })
      stores.push(open(server.url, { token: TOKEN }).store)
      onTestFinished(async () => {
        await server.close()
        await database.close()
      })
    }
    const [a, b] = stores as [LeaseStore, LeaseStore]
    const heard: string[][] = [[], []]
    for (const [n, store] of stores.entries())
      await store.watch((event) => {
        if (event.type === 'change')
          heard[n]?.push(`${event.lease.owner} ${event.lease.state} ${event.lease.share}`)
      })
    const ask = (id: string, more: Partial<Ask> = {}) => ({
      resource: 'r',
      id,
      owner: id,
      ttl: 60_000,
      ...more,
    })
    const lost: string[] = []
    const losing = (id: string) => ({ share: 2, lost: () => lost.push(id) })
    expect(await a.acquire(ask('Ann', losing('Ann')))).toMatchObject({ granted: true })
    expect(await b.acquire(ask('Ben', losing('Ben')))).toMatchObject({ granted: true })
    const refusal = await b.acquire(ask('Cem', { share: Infinity }))
    expect(refusal).toMatchObject({ granted: false, holders: [{ id: 'Ann' }, { id: 'Ben' }] })
    expect(await a.release({ resource: 'r', id: 'Ann' })).toMatchObject({
      holders: [{ id: 'Ben', share: 2 }],
    })
    const wake = vi.fn()
    expect(await a.acquire(ask('Dan', { wake }))).toMatchObject({ granted: false, place: 0 })
    expect(await b.acquire(ask('Eve', { share: Infinity, replace: 'any' }))).toMatchObject({
      granted: true,
      lease: { share: Infinity },
      replaced: { id: 'Ben', state: 'taken-over' },
    })
    await eventually(() => expect(lost).toEqual(['Ben']))
    await b.release({ resource: 'r', id: 'Eve' })
    await eventually(() => expect(wake).toHaveBeenCalledWith(0))
    expect(await a.acquire(ask('Dan', { wake }))).toMatchObject({ granted: true, lease: { share: null } })
    const story = [
      'Ann held 2',
      'Ben held 2',
      'Ann released 2',
      'Ben taken-over 2',
      'Eve held Infinity',
      'Eve released Infinity',
      'Dan held null',
    ]
    await eventually(() => expect(heard).toEqual([story, story]))
  })

  describe('that cannot be used', () => {
    let server: HoldfastServer
    beforeAll(async () => {
      server = await startServer()
    })
    afterAll(() => server?.close())

    const faults: [string, () => [string, HttpStoreOptions], object][] = [
      [
        'no token',
        () => [server.url, {}],
        { code: 'store-failed', message: /403.*one of the leaseTokens of the server/ },
      ],
      [
        'a wrong token',
        () => [server.url, { token: 'wrong' }],
        {
          code: 'store-failed',
          message: /401: the server does not know this token; send one of its leaseTokens/,
        },
      ],
      [
        'a dead server',
        () => ['http://127.0.0.1:1', { token: TOKEN }],
        { code: 'store-unavailable', message: /cannot be reached/ },
      ],
      [
        'a wrong path',
        () => [`${server.url}/nowhere`, { token: TOKEN }],
        { code: 'store-failed', message: /the server answered 4/ },
      ],
    ]

    it.each(faults)(
      'httpStore that cannot be used for %s: says so, with and without a wait',
      async (_, where, error) => {
        const { leases } = open(...where())
        await expect(leases.tryAcquire('r')).rejects.toMatchObject(error)
        await expect(leases.acquire('r', ONE_ATTEMPT)).rejects.toMatchObject(error)
      },
    )

    it.each(faults)(
      'httpStore that cannot be used for %s: harms nobody who has handled the error',
      async (_, where) => {
        const unhandled = vi.fn()
        process.on('unhandledRejection', unhandled)
        onTestFinished(() => void process.off('unhandledRejection', unhandled))
        const clock = new FakeClock()
        const [url, options] = where()
        const { leases } = open(url, { ...options, clock })
        await expect(leases.tryAcquire('r')).rejects.toThrow()
        // What the server may have to say about the channel, and then the end of an idle socket.
        await new Promise((resolve) => setTimeout(resolve, 300))
        await clock.advance(10_000)
        expect(unhandled).not.toHaveBeenCalled()
      },
    )

    it('httpStore that is closed in the middle of an acquisition ends it at once', async () => {
      const { leases, store } = open(server.url, { token: TOKEN })
      const acquisition = leases.acquire('closed', { wait: 10_000 })
      const ended = expect(acquisition).rejects.toMatchObject({ code: 'closed' })
      await store.close()
      await ended
    })

    it('httpStore that cannot be used for want of its WebSocket: gets what is free, and says why it cannot wait', async () => {
      const refusal = { code: 'store-unavailable', message: /no WebSocket.*channelKey/ }
      const lease = await open(server.url, { token: TOKEN }).leases.acquire('r')
      const { leases, store } = open(server.url, { token: TOKEN, key: 'wrong' })
      await expect(leases.acquire('r', ONE_ATTEMPT)).rejects.toMatchObject(refusal)
      await expect(store.watch(() => {})).rejects.toMatchObject(refusal)
      const waiting = leases.acquire('r', { wait: 60_000 })
      await lease.release()
      await (await waiting).release()
    })

    it('httpStore that cannot be used whose WebSocket never opens: gets by HTTP what is free or becomes free', async () => {
      const url = await withoutWebSockets(server.url)
      const { leases } = open(url, { token: TOKEN })
      expect((await leases.acquire('free')).held).toBe(true)
      const other = await open(server.url, { token: TOKEN }).leases.acquire('busy')
      const failed = new Promise((resolve) =>
        leases.subscribe(({ type, resource }) => type === 'error' && resource === 'busy' && resolve(type)),
      )
      const waiting = leases.acquire('busy', { wait: 60_000 })
      await failed
      await other.release()
      expect((await waiting).held).toBe(true)
    })
  })
})

/** Passes every request on, but never answers one for a WebSocket. */
async function withoutWebSockets(url: string): Promise<string> {
  const proxy = createHttpServer((request, response) => {
    const { method = 'GET', headers } = request
    const passedOn = httpRequest(new URL(request.url ?? '', url), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
    })
    request.pipe(passedOn)
  })
  proxy.on('upgrade', () => {})
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  onTestFinished(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
}

/** Closed when the test is over. */
function open(url: string, options: HttpStoreOptions) {
  const store = httpStore(url, options)
  onTestFinished(() => store.close())
  return { store, leases: createLeases(store) }
}

/** The server runs in this process, and must not notice that `Date` is set off for the client. */
const serverClock = { ...systemClock, now: () => Math.floor(performance.timeOrigin + performance.now()) }

function startServer(): Promise<HoldfastServer> {
  return createServer({ store: memoryStore({ clock: serverClock }), settings: SETTINGS })
}

/** Two stores at one server; the first goes through a proxy. */
async function openPair() {
  const server = await startServer()
  const proxy = await cuttableProxy('127.0.0.1', server.port)
  const store = httpStore(`http://${proxy.address}`, { token: TOKEN })
  const peer = httpStore(server.url, { token: TOKEN })
  const dispose = async () => {
    await Promise.all([store.close(), peer.close()])
    await proxy[Symbol.asyncDispose]()
    await server.close()
  }
  return { url: server.url, proxy, store, peer, dispose, [Symbol.asyncDispose]: dispose }
}
