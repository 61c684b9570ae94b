import Echo from 'laravel-echo'
import pusherJs from 'pusher-js'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { memoryBus } from '../../src/server/buses/memory.ts'
import { createServer } from '../../src/server/node/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { eventually } from '../eventually.ts'
import { KEY, SECRET } from './fake-socket.ts'
import { openSocketServer, type SocketServer } from './socket-server.ts'

/** Its types are those of a bundled module; in Node the module is the class itself. */
type Pusher = pusherJs.default
const Pusher = pusherJs as unknown as typeof pusherJs.default

const LOCKED = { room_id: '42', session_id: 'public-id', locked_at: '2030-01-01T00:00:00.000Z' }
let server: SocketServer
const clients: { disconnect(): void }[] = []
beforeEach(async () => {
  server = await openSocketServer({ clientEvents: true })
})
afterEach(async () => {
  for (const client of clients.splice(0)) client.disconnect()
  await server[Symbol.asyncDispose]()
})

const optionsFor = (user: string, port = server.port) => ({
  cluster: '',
  wsHost: '127.0.0.1',
  wsPort: port,
  forceTLS: false,
  enabledTransports: ['ws' as const],
  channelAuthorization: { endpoint: `http://127.0.0.1:${port}/auth/${user}`, transport: 'ajax' as const },
})

function pusherFor(user = 'ann', port = server.port, key = KEY): Pusher {
  const pusher = new Pusher(key, { ...optionsFor(user, port), disableStats: true })
  clients.push(pusher)
  return pusher
}

function echoFor(user = 'ann') {
  const echo = new Echo({ broadcaster: 'pusher', key: KEY, Pusher: pusherJs, ...optionsFor(user) })
  clients.push(echo)
  return echo
}

/** Subscribes, and resolves when the server has agreed; rejects with what it said otherwise. */
function subscribed(pusher: Pusher, channel: string) {
  const subscription = pusher.subscribe(channel)
  return new Promise<typeof subscription>((resolve, reject) => {
    subscription.bind('pusher:subscription_succeeded', () => resolve(subscription))
    subscription.bind('pusher:subscription_error', reject)
  })
}

describe('pusher-js', () => {
  it.each(['document.42', 'private-document.42', 'presence-document.42'])(
    'hears the events of %s',
    async (name) => {
      const channel = await subscribed(pusherFor(), name)
      const heard = vi.fn()
      channel.bind_global((event: string, data: unknown) => heard(event, data))
      server.hub.broadcast('document.42', 'document.locked', LOCKED)
      server.hub.broadcast('document.43', 'document.locked', LOCKED)
      server.hub.broadcast('document.42', 'document.unlocked', { room_id: '42' })
      await eventually(() => expect(heard).toHaveBeenCalledTimes(2))
      expect(heard.mock.calls).toEqual([
        ['document.locked', LOCKED],
        ['document.unlocked', { room_id: '42' }],
      ])
    },
  )

  it('pusher-js leaves a channel', async () => {
    const pusher = pusherFor()
    await subscribed(pusher, 'document.42')
    pusher.unsubscribe('document.42')
    await eventually(() => expect([...server.hub.subscribed()]).toEqual([]))
  })

  it.each(['private-document.42', 'presence-document.42'])(
    'is told when its signature for %s is bad',
    async (name) => {
      const error = { type: 'AuthError', status: 401, error: expect.any(String) }
      await expect(subscribed(pusherFor('mallory'), name)).rejects.toEqual(error)
      expect([...server.hub.subscribed()]).toEqual([])
    },
  )

  it('pusher-js sees members come and go', async () => {
    const [ann, bob] = [pusherFor('ann'), pusherFor('bob')]
    const room = 'presence-document.42'
    const [added, removed] = [vi.fn(), vi.fn()]
    const channel = await subscribed(ann, room)
    channel.bind('pusher:member_added', added)
    channel.bind('pusher:member_removed', removed)
    const other = await subscribed(bob, room)
    expect(Object(other).members).toMatchObject({
      count: 2,
      myID: 'bob',
      me: { id: 'bob', info: { name: 'bob' } },
      members: { ann: { name: 'ann' }, bob: { name: 'bob' } },
    })
    await eventually(() => expect(added).toHaveBeenCalledWith({ id: 'bob', info: { name: 'bob' } }))
    const typing = vi.fn()
    channel.bind('client-typing', typing)
    other.trigger('client-typing', { at: 7 })
    await eventually(() => expect(typing).toHaveBeenCalledWith({ at: 7 }, { user_id: 'bob' }))
    bob.disconnect()
    await eventually(() => expect(removed).toHaveBeenCalledWith({ id: 'bob', info: { name: 'bob' } }))
  })

  it('pusher-js sees members on another node', async () => {
    const bus = memoryBus()
    await using one = await openSocketServer({ bus })
    await using two = await openSocketServer({ bus })
    const channel = await subscribed(pusherFor('ann', one.port), 'presence-document.42')
    const added = vi.fn()
    channel.bind('pusher:member_added', added)
    const other = await subscribed(pusherFor('bob', two.port), 'presence-document.42')
    expect(Object(other).members.count).toBe(2)
    await eventually(() => expect(added).toHaveBeenCalledWith({ id: 'bob', info: { name: 'bob' } }))
  })

  it('pusher-js backs off when the server goes, and is back with its channels when it returns', async () => {
    const pusher = pusherFor()
    const heard = vi.fn()
    const channel = await subscribed(pusher, 'private-document.42')
    channel.bind('document.locked', heard)
    const errors: unknown[] = []
    pusher.connection.bind('error', (error: { data?: { code?: number } }) => errors.push(error.data?.code))
    const { port } = server
    await server[Symbol.asyncDispose]()
    await eventually(() => expect(errors).toContain(4100))
    server = await eventually(() => openSocketServer({ port }))
    await eventually(() => expect([...server.hub.subscribed()]).toEqual(['document.42']))
    server.hub.broadcast('document.42', 'document.locked', LOCKED)
    await eventually(() => expect(heard).toHaveBeenCalledExactlyOnceWith(LOCKED, {}))
  })

  it('pusher-js gives up when it has the wrong key', async () => {
    const pusher = pusherFor('ann', server.port, 'other')
    const errors: unknown[] = []
    pusher.connection.bind('error', (error: unknown) => errors.push(error))
    await eventually(() => expect(pusher.connection.state).toBe('disconnected'))
    expect(errors).toMatchObject([{ error: { data: { code: 4001 } } }])
  })
})

describe('laravel-echo', () => {
  it.each(['channel', 'private'] as const)('laravel-echo hears plain names in a %s', async (form) => {
    const heard = vi.fn()
    echoFor()[form]('document.42').listen('.document.locked', heard)
    await eventually(() => expect([...server.hub.subscribed()]).toEqual(['document.42']))
    server.hub.broadcast('document.42', 'document.locked', LOCKED)
    await eventually(() => expect(heard).toHaveBeenCalledWith(LOCKED, {}))
  })

  it('laravel-echo hears the names of Laravel', async () => {
    await server[Symbol.asyncDispose]()
    server = await openSocketServer({ naming: 'laravel' })
    const heard = vi.fn()
    echoFor()
      .channel('document.42')
      .listen('DocumentLocked', heard)
      .listen('DocumentTakeoverRequested', heard)
    await eventually(() => expect([...server.hub.subscribed()]).toEqual(['document.42']))
    server.hub.broadcast('document.42', 'document.locked', LOCKED)
    server.hub.broadcast('document.42', 'document.takeover-requested', { room_id: '42' })
    await eventually(() =>
      expect(heard.mock.calls).toEqual([
        [LOCKED, {}],
        [{ room_id: '42' }, {}],
      ]),
    )
  })

  it('laravel-echo is told when its signature is bad', async () => {
    const [heard, error] = [vi.fn(), vi.fn()]
    echoFor('mallory').private('document.42').listen('.document.locked', heard).error(error)
    await eventually(() => expect(error).toHaveBeenCalledWith(expect.objectContaining({ status: 401 })))
  })

  it('sees who is here, joins and leaves', async () => {
    const [here, joining, leaving] = [vi.fn(), vi.fn(), vi.fn()]
    echoFor('ann').join('document.42').here(here).joining(joining).leaving(leaving)
    await eventually(() => expect(here).toHaveBeenCalledWith([{ name: 'ann' }]))
    const bob = echoFor('bob')
    bob.join('document.42')
    await eventually(() => expect(joining).toHaveBeenCalledWith({ name: 'bob' }))
    bob.leave('document.42')
    await eventually(() => expect(leaving).toHaveBeenCalledWith({ name: 'bob' }))
  })
})

describe('the whole service', () => {
  const store = memoryStore()
  const open = (port = 0) =>
    createServer({
      store,
      settings: { port, ttl: '1h', cookieSecrets: ['a'.repeat(32)], channelSecret: SECRET },
      log: () => {},
    })
  let service: Awaited<ReturnType<typeof open>>
  beforeEach(async () => {
    service = await open()
  })
  afterEach(() => service.close())

  const pusher = () => {
    const { port, settings, url } = service
    const channelAuthorization = { endpoint: `${url}/broadcasting/auth`, transport: 'ajax' as const }
    const client = new Pusher(settings.channelKey, { ...optionsFor('', port), channelAuthorization })
    clients.push(client)
    return client
  }
  const lock = (method: string, room: string, cookie = '') =>
    fetch(`${service.url}/api/documents/${room}/lock`, { method, headers: { cookie } })

  it.each(['', 'private-', 'presence-'])(
    'the whole service tells a %sdocument channel who locks and unlocks',
    async (form) => {
      const room = crypto.randomUUID()
      const channel = await subscribed(pusher(), `${form}document.${room}`)
      const heard = vi.fn()
      channel.bind_global((event: string, data: unknown) => heard(event, data))
      const granted = await lock('POST', room)
      const { locked_at, expires_at, token } = await granted.json()
      const [cookie = ''] = granted.headers.getSetCookie().map((set) => set.split(';')[0])
      await lock('DELETE', room, cookie)
      await eventually(() => expect(heard).toHaveBeenCalledTimes(2))
      const person = { session_id: expect.any(String) }
      const told = { ...person, room_id: room, locked_at, token, holder: person }
      expect(heard.mock.calls).toEqual([
        ['document.locked', { ...told, expires_at, expires_in_ms: expect.any(Number) }],
        ['document.unlocked', { ...told, reason: 'released' }],
      ])
      expect(cookie).not.toContain(heard.mock.calls[0]?.[1].session_id)
    },
  )

  it('the whole service keeps its locks through a restart, and its clients come back to hear of them', async () => {
    const room = crypto.randomUUID()
    const channel = await subscribed(pusher(), `private-document.${room}`)
    const unlocked = vi.fn()
    channel.bind('document.unlocked', unlocked)
    const granted = await lock('POST', room)
    const [cookie = ''] = granted.headers.getSetCookie().map((set) => set.split(';')[0])
    const { port } = service
    await service.close()
    service = await eventually(() => open(port))
    await eventually(() => expect([...service.locks.channels.subscribed()]).toHaveLength(1))
    expect((await lock('POST', room)).status).toBe(409)
    expect((await lock('DELETE', room, cookie)).status).toBe(200)
    await eventually(() => expect(unlocked).toHaveBeenCalledOnce())
  })
})
