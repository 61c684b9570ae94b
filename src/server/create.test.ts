import { EventEmitter } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { eventually } from '../../test/eventually.ts'
import { expectRefusal, FOREIGN } from '../../test/server/expect-refusal.ts'
import { memoryStore } from '../stores/memory.ts'
import { FakeClock } from '../testing/index.ts'
import {
  createChannels,
  createLockServer,
  jsonLog,
  type LockServerOptions,
  memoryAudit,
  memoryBus,
  memoryDocuments,
} from './index.ts'
import type { Log } from './log.ts'
import { attachSockets, createServer, sqliteDocuments, sqliteParts } from './node/index.ts'

const SECRETS = { cookieSecrets: ['a-cookie-secret-of-tests'], channelSecret: 'a-channel-secret-of-tests' }
const GIVEN = { log: () => {}, settings: SECRETS }

describe('an argument that is not valid', () => {
  it.each(['documents', 'audit', 'bus', 'meter', 'clock', 'identify', 'authorize', 'onTelemetry', 'log'])(
    'is refused with its name: %s',
    async (option) => {
      for (const foreign of FOREIGN)
        await expectRefusal(
          () => createLockServer({ ...GIVEN, store: memoryStore(), [option]: foreign } as LockServerOptions),
          option,
        )
    },
  )

  it('an argument that is not valid is refused with its name: store, options', async () => {
    const webLike = { ...memoryStore(), supports: { ...memoryStore().supports, expiry: false } }
    for (const foreign of [...FOREIGN, undefined, {}, webLike])
      await expectRefusal(() => createLockServer({ ...GIVEN, store: foreign as never }), 'store')
    for (const foreign of [...FOREIGN.slice(0, -1), undefined]) {
      await expectRefusal(() => createLockServer(foreign as never), 'options')
      await expectRefusal(() => createServer(foreign as never), 'options')
    }
  })

  it.each([10n, '', {}, null])(
    'an argument that is not valid is refused with its name: assets %#',
    async (assets) => {
      await expectRefusal(
        () => createServer({ ...GIVEN, store: memoryStore(), assets: assets as never }),
        'assets',
      )
    },
  )

  it.each([
    ['path', { path: 7 }],
    ['origins', { origins: 'https://a.test' }],
    ['maxPayload', { maxPayload: '1' }],
    ['maxBuffered', { maxBuffered: -1 }],
    ['clientOf', { clientOf: {} }],
    ['options', 10n],
  ])(
    'an argument that is not valid of attachSockets is refused with its name: %s',
    async (option, options) => {
      const hub = openHub()
      await expectRefusal(() => attachSockets(new EventEmitter(), hub, options as never), option)
      for (const foreign of FOREIGN) {
        await expectRefusal(() => attachSockets(foreign as never, hub), 'server')
        await expectRefusal(() => attachSockets(new EventEmitter(), foreign as never), 'hub')
      }
      await hub.close()
    },
  )

  it('an argument that is not valid of memoryAudit and jsonLog is refused with its name', async () => {
    for (const foreign of FOREIGN.filter((value) => value !== 7))
      await expectRefusal(() => memoryAudit(foreign as never), 'maxEntries')
    await expectRefusal(() => jsonLog(null as never, 'info', new FakeClock()), 'write')
    await expectRefusal(() => jsonLog(() => {}, 'loud' as never, new FakeClock()), 'from')
  })
})

describe('everything that ends', () => {
  it.each(['close', Symbol.asyncDispose] as const)('the lock server, by %s', async (end) => {
    const server = await createLockServer({ ...GIVEN, store: memoryStore() })
    await server[end]()
    await server[end]()
    expect((await server.fetch(new Request('http://a.test/readyz'))).status).toBe(503)
  })

  it.each(['close', Symbol.asyncDispose] as const)('the server on a port, by %s', async (end) => {
    const server = await createServer({ ...GIVEN, store: memoryStore(), settings: { ...SECRETS, port: 0 } })
    await server[end]()
    await server[end]()
    await expect(fetch(`${server.url}/healthz`)).rejects.toThrow()
  })

  it.each(['close', Symbol.asyncDispose] as const)('channels, sockets and a bus, by %s', async (end) => {
    const [bus, emitter] = [memoryBus(), new EventEmitter()]
    const hub = openHub(bus)
    const sockets = attachSockets(emitter, hub)
    for (const ending of [hub, sockets, bus]) await ending[end]()
    const connection = { send: vi.fn(), close: vi.fn() }
    hub.accept(connection, { key: 'app', protocol: '7', client: 'a' })
    expect(connection.close).toHaveBeenCalledWith(4100, expect.any(String))
    expect(emitter.listenerCount('upgrade')).toBe(0)
    await expect(bus.publish({ topic: 'a', data: {} })).rejects.toMatchObject({ code: 'closed' })
  })
})

function secretStore() {
  const kept = new Map<string, string>()
  const secrets = {
    async keep(name: string, secret: string) {
      if (!kept.has(name)) kept.set(name, secret)
      return kept.get(name) ?? ''
    },
  }
  return { kept, secrets }
}

it('a node puts the shared secrets back into a store that lost them, and says if the store has others', async () => {
  const { kept, secrets } = secretStore()
  const clock = new FakeClock()
  const logged: string[] = []
  const log: Log = (_, message, fields) => void logged.push(`${message} ${JSON.stringify(fields)}`)
  await using _ = await createLockServer({ store: memoryStore({ clock }), secrets, clock, log })
  const before = new Map(kept)
  kept.clear()
  await clock.advance(60_000)
  await eventually(() => expect(kept).toEqual(before))
  kept.set('cookie', 'a-secret-of-another-node')
  await clock.advance(60_000)
  await eventually(() =>
    expect(logged.join()).toMatch(/another cookie secret than this node.*restart this node/),
  )
  expect(logged.join()).not.toContain('a-secret-of-another-node')
})

it('two nodes with one SecretStore accept the sessions of each other', async () => {
  const { secrets } = secretStore()
  const store = memoryStore()
  await using one = await createLockServer({ store, secrets, log: () => {} })
  await using two = await createLockServer({ store, secrets, log: () => {} })
  const send = async (server: typeof one, method: string, cookie = '') =>
    server.fetch(new Request('http://a.test/api/documents/1/lock', { method, headers: { cookie } }))
  const [cookie] = (await send(one, 'POST')).headers.get('set-cookie')?.split(';') ?? []
  expect((await send(two, 'PUT', cookie)).status).toBe(200)
})

it('a meter and a log that throw do not affect a request', async () => {
  const fail = () => {
    throw new Error('a bad meter')
  }
  const meter = {
    request: fail,
    lease: fail,
    call: fail,
    observe() {},
    text: async () => ({ body: '', contentType: 'text/plain' }),
  }
  await using server = await createLockServer({ ...GIVEN, store: memoryStore(), meter, log: fail })
  const request = new Request('http://a.test/api/documents/1/lock', { method: 'POST' })
  expect((await server.fetch(request)).status).toBe(200)
})

function openHub(bus = memoryBus()) {
  return createChannels({ key: 'app', secret: 'a secret', bus, clock: new FakeClock() })
}

describe('what the nodes of a service would not share', () => {
  const BUS = "without a bus, several nodes do not hear of each other's changes: pass one"
  const CONTENTS = 'contents are in the memory of each node, and the leases are shared: pass other documents'
  const ALL = '; redisParts(client) has all of them'

  it.each<[string, Partial<LockServerOptions>, string[]]>([
    ['redis', {}, [BUS + ALL]],
    ['redis', { documents: memoryDocuments() }, [BUS + ALL, CONTENTS + ALL]],
    ['redis', { documents: memoryDocuments(), bus: memoryBus() }, [CONTENTS + ALL]],
    ['firestore', { documents: memoryDocuments() }, [BUS, CONTENTS]],
    ['memory', { documents: memoryDocuments() }, []],
    ['sqlite', {}, []],
  ])('is said at the start, on %s: case %#', async (kind, options, expected) => {
    const said: string[] = []
    const log = (level: string, message: string) => level === 'warn' && said.push(message)
    await using _ = await createLockServer({
      settings: SECRETS,
      store: { ...memoryStore(), kind },
      ...options,
      log,
    })
    expect(said).toEqual(expected)
  })
})

describe('the parts of a server on SQLite', () => {
  it('the parts of a server on SQLite keep contents, secrets and leases in one file, and close it', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'holdfast-parts-'))
    const path = join(directory, 'holdfast.db')
    const secrets: string[] = []
    for (let start = 0; start < 2; start++) {
      await using parts = sqliteParts(path)
      await using server = await createLockServer({ ...parts, log: () => {} })
      secrets.push(server.settings.channelSecret)
      if (start === 0) {
        await parts.documents.fence('minutes', { token: 1, holder: 'a' })
        await parts.documents.save('minutes', { token: 1, holder: 'a' }, 'written')
      }
      expect((await parts.documents.read('minutes'))?.content).toBe('written')
      await server.close()
      // A second close, by the end of the block, does nothing.
      await parts.close()
    }
    expect(secrets[1]).toBe(secrets[0])
    const documents = sqliteDocuments(path)
    expect((await documents.read('minutes'))?.content).toBe('written')
    documents.close()
    await expect(documents.read('minutes')).rejects.toMatchObject({ code: 'store-failed' })
    rmSync(directory, { recursive: true })
  })
})
