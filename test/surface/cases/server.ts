import assert from 'node:assert/strict'
import * as opentelemetry from '@opentelemetry/api'
import { systemClock } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import {
  type ChannelsHub,
  checkDependencies,
  createChannels,
  createLockServer,
  defaultAuthorize,
  jsonLog,
  memoryAudit,
  memoryBus,
  memoryDocuments,
  resolveSettings,
  SETTINGS,
  settingsOf,
  UnreadableContent,
} from 'holdfast/server'
import { prometheusMeter } from 'holdfast/server/node'

/** The service without a port, its channels, and the functions around it. */
export async function lockServerCase(): Promise<void> {
  await servesLocks()
  await servesWithEveryOption()
  await channelsAlone()
  settingsAndLog()
}

async function servesLocks(): Promise<void> {
  await using store = memoryStore()
  await using locks = await createLockServer({ store, settings: { channelKey: 'surface' } })
  const response = await locks.fetch(new Request('http://localhost/healthz'))
  assert.equal(response.status, 200)
  await callChannels(locks.channels)
  await locks.channels[Symbol.asyncDispose]()
  locks.drain()
  await locks.close()
}

async function servesWithEveryOption(): Promise<void> {
  await using store = memoryStore()
  await using bus = memoryBus()
  const [documents, audit] = [memoryDocuments(), memoryAudit()]
  const secrets = { keep: async (_: string, secret: string) => secret, check: async () => {} }
  assert.deepEqual(await checkDependencies({ store, documents, audit, bus, secrets }), [])
  assert.deepEqual(await checkDependencies({ store, documents }, systemClock), [])
  await using locks = await createLockServer({
    ...{ store, documents, audit, bus, settings: { acceptTelemetry: true, channelKey: 'surface' } },
    secrets,
    identify: () => ({ id: 'ada', name: 'Ada', role: 'admin' }),
    clientOf: () => 'client',
    authorize: () => true,
    onTelemetry: (events) => events.length,
    roomTerms: () => ({ ttl: '1m', heartbeat: '10s' }),
    ...{
      meter: prometheusMeter(),
      tracing: opentelemetry,
      log: () => {},
      clock: systemClock,
    },
    listensOn: '127.0.0.1',
  })
  const url = 'http://localhost/api/documents/minutes/lock'
  const response = await locks.fetch(new Request(url, { method: 'POST' }), {})
  assert.equal(response.status, 200)
  const events = [{ type: 'acquired' }]
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ events })
  const posted = await locks.fetch(
    new Request('http://localhost/telemetry', { method: 'POST', headers, body }),
  )
  assert(posted.status < 500)
}

async function channelsAlone(): Promise<void> {
  await using bus = memoryBus()
  await using channels = createChannels({
    ...{ key: 'surface', secret: 'a secret of the surface suite', bus, clock: systemClock },
    ...{ naming: 'laravel', publicChannels: true, clientEvents: true, activityTimeout: '1m' },
    ...{ origins: ['https://app.example.com'], hosts: ['app.example.com'], listensOn: '127.0.0.1' },
    ...{ trustProxy: 1, proxyHeaders: 'auto', webhook: 'http://127.0.0.1:9/', onError: () => {} },
    allows: () => true,
    limits: {
      ...{ socketsPerClient: 10, channelsPerSocket: 10, channelName: 100, channelData: 100 },
      ...{ framesPerSecond: 100, clientEventsPerSecond: 10 },
    },
  })
  await callChannels(channels)
}

/** Every method of the channels, with one connection. */
export async function callChannels(channels: ChannelsHub): Promise<void> {
  const sent: string[] = []
  const connection = { send: (text: string) => void sent.push(text), close: () => {} }
  const handler = channels.accept(connection, {
    ...{ key: 'surface', protocol: '7', library: 'js', client: '127.0.0.1' },
    request: new Request('http://localhost/app/surface'),
  })
  const refused = {
    key: 'surface',
    protocol: '7',
    client: '127.0.0.1',
    refusedOrigin: 'https://evil.example',
  }
  assert.equal(channels.accept(connection, refused), null)
  handler?.received(JSON.stringify({ event: 'pusher:ping', data: {} }))
  handler?.alive()
  channels.broadcast('news', 'said', { text: 'hello' })
  channels.broadcast('news', 'said', { text: 'hello' }, '1.1')
  channels.broadcastToOwn('news', 'said', { text: 'hello' })
  await channels.publish('news', 'said', '{}')
  await channels.publish('news', 'said', '{}', '1.1')
  assert.equal([...channels.subscribed()].length, 0)
  assert.equal((await channels.occupied('')).size, 0)
  assert.equal(channels.members('presence-room').size, 0)
  assert(await channels.sign('1.1', 'private-room'))
  assert(await channels.sign('1.1', 'presence-room', '{"user_id":"ada"}'))
  assert(await channels.signUser('1.1', '{"id":"ada"}'))
  await channels.terminate('ada')
  assert.equal(channels.isOwnHost('localhost'), true)
  channels.senderOf(() => undefined, '127.0.0.1')
  handler?.closed()
  await channels.close()
}

function settingsAndLog(): void {
  assert.equal(settingsOf().port, resolveSettings([]).port)
  assert.equal(settingsOf({ port: 8080 }).port, 8080)
  assert.equal(SETTINGS.port.parse('8080'), 8080)
  assert.equal(SETTINGS.port.show(8080), '8080')
  const lines: string[] = []
  jsonLog((line) => lines.push(line), 'info', systemClock)('info', 'hello', { n: 1 })
  jsonLog((line) => lines.push(line), 'info', systemClock)('info', 'hello')
  assert.equal(lines.length, 2)
  const authorize = defaultAuthorize(settingsOf())
  authorize({ id: 'ada', publicId: 'a', name: 'Ada', role: 'admin' }, 'read', 'minutes')
  assert.equal(new UnreadableContent('minutes').name, 'UnreadableContent')
  assert(new UnreadableContent('minutes', { cause: new Error('damaged') }).cause)
}
