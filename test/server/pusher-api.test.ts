import { once } from 'node:events'
import { createServer as createHttpServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import PusherBackend from 'pusher'
import pusherJs, { type Channel, type PresenceChannel } from 'pusher-js'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type GivenSettings, memoryBus } from '../../src/server/index.ts'
import { createServer, type HoldfastServer } from '../../src/server/node/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { eventually } from '../eventually.ts'
import { SECRETS } from './service-bed.ts'

/** Its types are those of a bundled module; in Node the module is the class itself. */
type Pusher = pusherJs.default
const Pusher = pusherJs as unknown as typeof pusherJs.default

const SECRET = SECRETS.channelSecret
let nodes: HoldfastServer[]
let clients: Pusher[]
beforeEach(async () => {
  nodes = await openNodes()
  clients = []
})

/** Two nodes of one service. */
function openNodes(more: GivenSettings = {}): Promise<HoldfastServer[]> {
  const [store, bus] = [memoryStore(), memoryBus()]
  const settings = { ...SECRETS, port: 0, appId: 'blog', channelKey: 'blog-key', rate: 0, ...more }
  const open = () => createServer({ store, bus, settings, log: () => {} })
  return Promise.all([open(), open()])
}

afterEach(async () => {
  for (const client of clients) client.disconnect()
  await Promise.all(nodes.map((node) => node.close()))
})

describe('the package pusher', () => {
  it('the package pusher triggers events to all channels and nodes, except the socket of the sender', async () => {
    const [here, there] = [browser(0), browser(1)]
    const [mine, theirs] = await Promise.all([
      subscribed(here, 'private-posts'),
      subscribed(there, 'private-posts'),
    ])
    const heard = { mine: vi.fn(), theirs: vi.fn() }
    mine.bind('App\\Events\\Posted', (data: unknown) => heard.mine(data))
    theirs.bind('App\\Events\\Posted', (data: unknown) => heard.theirs(data))
    const { socket_id = '' } = here.connection
    const answer = await backend().trigger(
      ['private-posts', 'other'],
      'App\\Events\\Posted',
      { id: 7 },
      { socket_id },
    )
    expect(answer.status).toBe(200)
    await eventually(() => expect(heard.theirs).toHaveBeenCalledExactlyOnceWith({ id: 7 }))
    await backend().trigger('private-posts', 'App\\Events\\Posted', { id: 8 })
    await eventually(() => expect(heard.mine).toHaveBeenCalledExactlyOnceWith({ id: 8 }))
  })

  it('the package pusher triggers batches in their order', async () => {
    const channel = await subscribed(browser(1), 'news')
    const heard = vi.fn()
    channel.bind_global((event: string, data: unknown) => heard(event, data))
    const batch = [1, 2, 3].map((n) => ({ channel: 'news', name: `event-${n}`, data: { n } }))
    await backend().triggerBatch(batch)
    await eventually(() => expect(heard).toHaveBeenCalledTimes(3))
    expect(heard.mock.calls).toEqual([1, 2, 3].map((n) => [`event-${n}`, { n }]))
  })

  it('the package pusher reads channels and the members of presence channels, on all nodes', async () => {
    await Promise.all([subscribed(browser(0), 'presence-document.1'), subscribed(browser(1), 'news')])
    const member = await subscribed(browser(1), 'presence-document.1')
    await eventually(() => expect((member as PresenceChannel).members.count).toBe(2))
    const get = async (path: string, params = {}) => (await backend().get({ path, params })).json()
    expect(await get('/channels')).toEqual({ channels: { 'presence-document.1': {}, news: {} } })
    const query = { filter_by_prefix: 'presence-', info: 'user_count' }
    expect(await get('/channels', query)).toEqual({ channels: { 'presence-document.1': { user_count: 2 } } })
    expect(await get('/channels/news', { info: 'subscription_count' })).toEqual({
      occupied: true,
      subscription_count: 1,
    })
    expect(await get('/channels/empty')).toEqual({ occupied: false })
    const { users } = (await get('/channels/presence-document.1/users')) as { users: { id: string }[] }
    const ids = Object.keys((member as PresenceChannel).members.members)
    expect(users.map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
    await expect(get('/channels/news/users')).rejects.toMatchObject({ status: 400 })
  })

  it('sends to a user who has signed in, and to nobody else', async () => {
    const [client, stranger] = [browser(1), browser(1)]
    const heard = vi.fn()
    client.signin()
    client.user.bind('told', heard)
    await client.user.signinDonePromise
    const user = client.user.user_data?.id ?? ''
    await eventually(async () => {
      await backend().sendToUser(user, 'told', { n: 1 })
      expect(heard).toHaveBeenCalledWith({ n: 1 })
    })
    const received = vi.fn()
    stranger.connection.bind('message', received)
    await eventually(() => {
      stranger.send_event('pusher:subscribe', { channel: `#server-to-user-${user}` })
      expect(received).toHaveBeenCalledWith(
        expect.objectContaining({
          event: 'pusher:subscription_error',
          data: expect.objectContaining({ status: 403 }),
        }),
      )
    })
  })

  it('the package pusher ends the sockets of a user on all nodes, and no others', async () => {
    const [user, stranger] = [browser(1), browser(1)]
    user.signin()
    await user.user.signinDonePromise
    const id = user.user.user_data?.id ?? ''
    await subscribed(stranger, 'news')
    const answer = await backend().terminateUserConnections(id)
    expect(answer.status).toBe(200)
    await eventually(() => expect(user.connection.state).toMatch(/^(failed|disconnected)$/))
    expect(stranger.connection.state).toBe('connected')
    await expect(backend({ secret: 'not-the-secret' }).terminateUserConnections(id)).rejects.toMatchObject({
      status: 401,
    })
  })

  it.each([
    ['another secret', { secret: 'not-the-secret' }, 401],
    ['another key', { key: 'other-key' }, 401],
    ['another app', { appId: 'other' }, 404],
  ])('the package pusher with %s is refused', async (_, more, status) => {
    await expect(backend(more).trigger('news', 'told', {})).rejects.toMatchObject({ status })
  })

  it.each([
    ['with spaces and other letters', '/channels/öffentliche räume', 200],
    ['that was percent-encoded before it was signed', `/channels/${encodeURIComponent('öff räume')}`, 200],
    ['that is not UTF-8', '/channels/%ff', 400],
  ])('the package pusher reads a path %s', async (_, path, status) => {
    const response = await backend()
      .get({ path })
      .catch((error: unknown) => error as { status: number })
    expect(response.status).toBe(status)
  })

  it('the package pusher gets 401 for a path that is not UTF-8 without a signature', async () => {
    const response = await fetch(`${nodes[0]?.url}/apps/blog/channels/%ff?auth_key=blog-key`)
    expect([response.status, await response.json()]).toMatchObject([401, { error: 'invalid_signature' }])
  })

  it.each([
    ['an event of the protocol', 'news', 'pusher:error'],
    ['a channel of the server', 'private-holdfast.leases', 'lease.change'],
  ])('the package pusher cannot send %s', async (_, channel, event) => {
    await expect(backend().trigger(channel, event, {})).rejects.toMatchObject({ status: 400 })
  })

  it('the package pusher cannot send more than the server takes', async () => {
    await expect(backend().trigger('news', 'told', 'x'.repeat(20_000))).rejects.toMatchObject({ status: 413 })
  })
})

describe('webhooks', () => {
  let received: { readonly events: WebHookEvent[]; readonly isValid: boolean }[]
  let hook: Server
  beforeEach(async () => {
    received = []
    let fails = 1
    hook = createHttpServer(async (incoming, response) => {
      let rawBody = ''
      for await (const chunk of incoming) rawBody += chunk
      // The first delivery fails, so that it is repeated.
      response.writeHead(fails-- > 0 ? 503 : 200).end()
      if (response.statusCode !== 200) return
      const webhook = backend().webhook({ headers: incoming.headers as Record<string, string>, rawBody })
      received.push({ events: webhook.getEvents() as WebHookEvent[], isValid: webhook.isValid() })
    }).listen(0, '127.0.0.1')
    await once(hook, 'listening')
    const { port } = hook.address() as AddressInfo
    await Promise.all(nodes.map((node) => node.close()))
    nodes = await openNodes({ webhook: `http://127.0.0.1:${port}/` })
  })
  afterEach(() => void hook.close())

  it('webhooks tell once when a channel is occupied and vacated, and when members come and go, on all nodes', async () => {
    const [here, there] = [browser(0), browser(1)]
    await subscribed(here, 'presence-room')
    const theirs = (await subscribed(there, 'presence-room')) as PresenceChannel
    await eventually(() => expect(theirs.members.count).toBe(2))
    const [first, second] = [here.connection.socket_id, there.connection.socket_id]
    here.disconnect()
    await eventually(() => expect(theirs.members.count).toBe(1))
    there.disconnect()
    const channel = 'presence-room'
    await eventually(() =>
      expect(received.flatMap(({ events }) => events)).toEqual(
        expect.arrayContaining([
          { name: 'channel_occupied', channel },
          { name: 'member_added', channel, user_id: first },
          { name: 'member_added', channel, user_id: second },
          { name: 'member_removed', channel, user_id: first },
          { name: 'member_removed', channel, user_id: second },
          { name: 'channel_vacated', channel },
        ]),
      ),
    )
    expect(received.flatMap(({ events }) => events)).toHaveLength(6)
    expect(received.every(({ isValid }) => isValid)).toBe(true)
  })
})

interface WebHookEvent {
  readonly name: string
  readonly channel: string
}

describe('a signed request', () => {
  const signed = (body: string, params = {}) => {
    const query = backend().createSignedQueryString({
      method: 'POST',
      path: '/apps/blog/events',
      body,
      params,
    })
    return `${nodes[0]?.url}/apps/blog/events?${query}`
  }
  const BODY = JSON.stringify({ name: 'told', data: '{}', channels: ['news'] })

  it.each([
    ['as it was signed', (url: string) => [url, BODY], 200],
    ['with another body', (url: string) => [url, BODY.replace('told', 'lied')], 401],
    ['with another parameter', (url: string) => [`${url}&info=user_count`, BODY], 401],
    ['with a parameter twice', (url: string) => [`${url}&auth_version=1.0`, BODY], 401],
    ['with another path', (url: string) => [url.replace('/events', '/batch_events'), BODY], 401],
    ['without a signature', (url: string) => [url.replace(/&auth_signature=.*/, ''), BODY], 401],
  ])('%s', async (_, change, status) => {
    const [url = '', body = ''] = change(signed(BODY))
    expect((await fetch(url, { method: 'POST', body })).status).toBe(status)
  })

  it.each([
    // The request may take a while on a busy machine.
    [590, 200],
    [-540, 200],
    [660, 401],
    [-602, 401],
  ])('a signed request whose clock differs by %i s gets %i', async (seconds, status) => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + seconds * 1000 })
    const url = signed(BODY)
    vi.useRealTimers()
    expect((await fetch(url, { method: 'POST', body: BODY })).status).toBe(status)
  })
})

function backend(more: { appId?: string; key?: string; secret?: string } = {}): PusherBackend {
  const port = String(nodes[0]?.port)
  return new PusherBackend({
    appId: 'blog',
    key: 'blog-key',
    secret: SECRET,
    host: '127.0.0.1',
    port,
    ...more,
  })
}

function browser(node: 0 | 1): Pusher {
  const { url = '', port = 0 } = nodes[node] ?? {}
  const auth = (path: string) => ({ endpoint: `${url}/broadcasting/${path}`, transport: 'ajax' as const })
  const options: pusherJs.Options = {
    cluster: '',
    wsHost: '127.0.0.1',
    wsPort: port,
    forceTLS: false,
    enabledTransports: ['ws'],
    enableStats: false,
    channelAuthorization: {
      ...auth('auth'),
      // Channels of the application itself are authorized by its own backend.
      customHandler: ({ socketId, channelName }, callback) => {
        const member = channelName.startsWith('presence-') ? { user_id: socketId } : undefined
        callback(null, backend().authorizeChannel(socketId, channelName, member))
      },
    },
    userAuthentication: auth('user-auth'),
  }
  const client = new Pusher('blog-key', options)
  clients.push(client)
  return client
}

function subscribed(client: Pusher, name: string): Promise<Channel> {
  const channel = client.subscribe(name)
  return new Promise((resolve, reject) => {
    channel.bind('pusher:subscription_succeeded', () => resolve(channel))
    channel.bind('pusher:subscription_error', reject)
  })
}
