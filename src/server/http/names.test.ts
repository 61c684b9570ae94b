import { md5 } from '@noble/hashes/legacy.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { describe, expect, it } from 'vitest'
import { fakeSocket } from '../../../test/server/fake-socket.ts'
import {
  ADMIN_TOKEN,
  type Answer,
  LEASE_TOKEN,
  SECRETS,
  type ServiceBed,
  serviceBed,
} from '../../../test/server/service-bed.ts'
import type { Action } from '../identity.ts'
import { Signer } from '../signer.ts'

/** Two spellings of one name. The second one is NFC, in which names are stored. */
const SPELLINGS = ['cafe\u0301', 'caf\u00e9'] as const
const [NFD, NFC] = SPELLINGS
const LEASE = { id: 'id-1', owner: 'worker', ttl: 30_000 }

interface Call {
  readonly method: string
  readonly path: string
  readonly body?: unknown
}

type CallWith = (name: string) => Call

const room = (method: string, path = '', body?: unknown): CallWith => {
  return (name) => ({ method, path: `/api/documents/${encodeURIComponent(name)}${path}`, body })
}
const lease = (method: string, body?: unknown): CallWith => {
  return (name) => ({ method, path: `/api/leases/${encodeURIComponent(name)}`, body })
}
const leaseByQuery = (method: string, body?: unknown): CallWith => {
  return (name) => ({ method, path: `/api/leases?resource=${encodeURIComponent(name)}`, body })
}
const administered = (method: string): CallWith => {
  return (name) => ({ method, path: `/api/locks/${encodeURIComponent(name)}` })
}
const pusher = (method: string, path: string, body?: unknown): Call => ({
  method,
  path: `/apps/holdfast${path}`,
  body,
})

/** Every operation that takes a name, and what `authorize` must be asked about it. */
const AUTHORIZED: Readonly<Record<string, readonly [Action, CallWith]>> = {
  lock: ['lock', room('POST', '/lock')],
  beat: ['lock', room('PUT', '/lock')],
  unlock: ['lock', room('DELETE', '/lock')],
  unlockByBeacon: ['lock', room('POST', '/lock/release', { client_id: 'tab', token: 1 })],
  readLock: ['read', room('GET', '/lock')],
  readLocks: ['read', (name) => ({ method: 'POST', path: '/api/documents/locks', body: { rooms: [name] } })],
  takeOver: ['takeover', room('POST', '/lock/takeover')],
  requestLock: ['lock', room('POST', '/lock/request')],
  answerRequest: ['lock', room('POST', '/lock/request/answer', { request_id: 'a', granted: true })],
  readDocument: ['read', room('GET')],
  saveDocument: ['save', room('PUT', '', { content: 1, token: 1 })],
  deleteDocument: ['save', room('DELETE')],
  acquireLease: ['lease', lease('POST', LEASE)],
  renewLease: ['lease', lease('PUT', { id: 'id-1', ttl: 30_000 })],
  releaseLease: ['lease', lease('DELETE', { id: 'id-1' })],
  readLease: ['lease', lease('GET')],
  acquireLeaseByQuery: ['lease', leaseByQuery('POST', LEASE)],
  renewLeaseByQuery: ['lease', leaseByQuery('PUT', { id: 'id-1', ttl: 30_000 })],
  releaseLeaseByQuery: ['lease', leaseByQuery('DELETE', { id: 'id-1' })],
  readLeases: [
    'lease',
    (name) => ({ method: 'GET', path: `/api/leases?resource=a&resource=${encodeURIComponent(name)}` }),
  ],
  keepLeases: [
    'lease',
    (resource) => ({
      method: 'POST',
      path: '/api/batch',
      body: { calls: [{ method: 'DELETE', resource, body: { id: 'id-1' } }] },
    }),
  ],
  showLock: ['observe', administered('GET')],
  forceRelease: ['admin', administered('DELETE')],
  readAudit: [
    'admin',
    (name) => ({ method: 'GET', path: `/api/audit?resource=${encodeURIComponent(name)}` }),
  ],
}

const channel = (name: string) => `presence-document.${name}`

/** The Pusher protocol's own operations. A signature takes the place of `authorize`. */
const SIGNED: Readonly<Record<string, CallWith>> = {
  triggerEvent: (name) =>
    pusher('POST', '/events', {
      name: 'e',
      channels: [channel(name)],
      data: '{}',
      info: 'subscription_count',
    }),
  triggerBatch: (name) =>
    pusher('POST', '/batch_events', {
      batch: [{ channel: channel(name), name: 'e', data: '{}', info: 'subscription_count' }],
    }),
  listChannels: (name) => pusher('GET', `/channels?filter_by_prefix=${encodeURIComponent(channel(name))}`),
  readChannel: (name) => pusher('GET', `/channels/${encodeURIComponent(channel(name))}?info=user_count`),
  listUsers: (name) => pusher('GET', `/channels/${encodeURIComponent(channel(name))}/users`),
}

/** They take no name, or list what the caller may see, or have a test of their own below. */
const OTHERS = [
  'authorizeChannel',
  'authorizeUser',
  'health',
  'listLocks',
  'metrics',
  'openApi',
  'postTelemetry',
  'readiness',
  'readStats',
  'sweepLeases',
  'terminateUser',
]

function send(bed: ServiceBed, { method, path, body }: Call): Promise<Answer> {
  return bed.browser('tab').call(method, path, body, { headers: { 'Content-Type': 'application/json' } })
}

describe('a name in another form of Unicode', () => {
  it('a name in another form of Unicode has a case for every operation', async () => {
    await using bed = await serviceBed()
    const { paths } = Object((await bed.browser().call('GET', '/openapi.json')).body)
    const ids = Object.values<object>(paths).flatMap((path) =>
      Object.values(path).flatMap(({ operationId }) => operationId ?? []),
    )
    const tested = [...Object.keys(AUTHORIZED), ...Object.keys(SIGNED), ...OTHERS]
    expect(tested.toSorted()).toEqual(ids.toSorted())
  })

  it.each(Object.entries(AUTHORIZED))(
    'is authorized by %s in the form in which it is used',
    async (_, [action, callWith]) => {
      const asked: string[][] = []
      let refused = ''
      await using bed = await serviceBed({
        authorize: (_, ...about) => {
          asked.push(about)
          return about[1] !== refused
        },
      })
      await send(bed, callWith(NFD))
      expect(asked).toContainEqual([action, NFC])
      expect(asked.filter(([, resource]) => resource === NFD)).toEqual([])
      refused = NFC
      const [one, other] = await Promise.all(SPELLINGS.map((name) => send(bed, callWith(name))))
      expect(one?.body).toEqual(other?.body)
      expect(JSON.stringify(one?.body)).toContain('"forbidden"')
    },
  )

  it.each(Object.entries(SIGNED))(
    'a name in another form of Unicode is the same channel for %s',
    async (_, callWith) => {
      await using bed = await serviceBed()
      const socket = fakeSocket(bed.server.channels, { key: 'holdfast' })
      await socket.enter(channel(NFC), { user_id: 'ann' })
      const answers = []
      for (const name of SPELLINGS) {
        const { method, path, body } = await signed(bed, callWith(name))
        const answer = await bed.program('').call(method, path, body, { headers: { Authorization: '' } })
        answers.push([
          answer.status,
          JSON.stringify(answer.body).replaceAll(NFD, 'name').replaceAll(NFC, 'name'),
          socket.take().length,
        ])
      }
      expect(answers[0]).toEqual(answers[1])
      expect(answers[0]).toEqual([
        200,
        expect.stringMatching(/"(subscription_count|user_count)":1|"id":"ann"|name":\{\}/),
        callWith(NFD).method === 'POST' ? 1 : 0,
      ])
    },
  )

  it('a name in another form of Unicode is refused as the channel of a room by sockets and by the route that signs', async () => {
    const asked: string[] = []
    const authorize = (_: unknown, __: unknown, resource: string) => asked.push(resource) > 0
    await using bed = await serviceBed({ authorize })
    const socket = fakeSocket(bed.server.channels, {
      key: 'holdfast',
      request: new Request('http://a.test/app'),
    })
    for (const form of ['document.', 'private-document.', 'presence-document.']) {
      const [frame] = await socket.subscribe(form + NFD, { channel_data: '{"user_id":"ann"}' })
      expect(frame).toMatchObject({ event: 'pusher:subscription_error', data: { status: 400 } })
      if (form === 'document.') continue
      const body = { socket_id: socket.id, channel_name: form + NFD }
      const answer = await send(bed, { method: 'POST', path: '/broadcasting/auth', body })
      expect([answer.status, answer.body.error]).toEqual([400, 'invalid_channel'])
    }
    expect(asked).toEqual([])
  })
})

describe('the lease API and the locks of documents', () => {
  const BY_FORCE = [
    lease('GET')('document:room'),
    lease('POST', { ...LEASE, replace: 1 })('document:room'),
    lease('PUT', { id: 'id-1', ttl: 30_000 })('document:room'),
    lease('DELETE', { token: 1 })('document:room'),
    leaseByQuery('DELETE', { token: 1 })('document:room'),
    leaseByQuery('GET')('document:room'),
  ]

  it.each(BY_FORCE)('$method $path takes an admin token', async ({ method, path, body }) => {
    await using bed = await serviceBed({ settings: { openLeases: true } })
    const holder = bed.browser('tab')
    await holder.call('POST', '/api/documents/room/lock')
    for (const sender of [bed.browser(), bed.program(LEASE_TOKEN)]) {
      const refused = await sender.call(method, path, body)
      expect([refused.status, refused.body.error]).toEqual([403, 'forbidden'])
      expect(refused.body.message).toContain('adminTokens')
    }
    expect((await holder.call('PUT', '/api/documents/room/lock')).status).toBe(200)
    expect((await bed.program(ADMIN_TOKEN).call(method, path, body)).status).not.toBe(403)
  })

  it('a batch reaches into a room only with an admin token', async () => {
    await using bed = await serviceBed()
    const holder = bed.browser('tab')
    const { body } = await holder.call('POST', '/api/documents/room/lock')
    const calls = [{ method: 'DELETE', resource: 'document:room', body: { token: body.token } }]
    const end = async (token: string) =>
      Object((await bed.program(token).call('POST', '/api/batch', { calls })).body).answers
    expect(await end(LEASE_TOKEN)).toMatchObject([{ status: 403 }])
    expect((await holder.call('PUT', '/api/documents/room/lock')).status).toBe(200)
    expect(await end(ADMIN_TOKEN)).toMatchObject([{ status: 200 }])
    expect((await holder.call('PUT', '/api/documents/room/lock')).status).toBe(404)
  })

  it('authorize can let a program into rooms', async () => {
    await using bed = await serviceBed({ authorize: ({ role }) => role === 'lease' })
    const program = bed.program(LEASE_TOKEN)
    expect((await program.call('POST', '/api/leases/document:room', LEASE)).status).toBe(200)
  })

  it('a sweep shows nobody the expired leases that they may not see', async () => {
    await using bed = await serviceBed({ settings: { openLeases: true } })
    const senders = [bed.browser(), bed.program(LEASE_TOKEN), bed.program(ADMIN_TOKEN)]
    const expected = [['job'], ['job'], ['document:room', 'job']]
    for (const [n, sender] of senders.entries()) {
      await bed.store.acquire({ ...LEASE, resource: 'document:room', id: 'secret:room', ttl: 1000 })
      await bed.store.acquire({ ...LEASE, resource: 'job', ttl: 1000 })
      await bed.clock.advance(2000)
      const { body } = await sender.call('POST', '/api/sweep', { limit: 10 })
      const seen = Object(body).leases.map(({ resource }: { resource: string }) => resource)
      expect(seen).toEqual(expected[n])
    }
  })

  it('a list is complete in pages of any size, and no page names a lease that must not be seen', async () => {
    await using bed = await serviceBed({ settings: { openLeases: true } })
    const rooms = [1, 2, 3].map((n) => `document:room-${n}`)
    const shared = ['job', 'job', 'job'].map((resource) => ({ resource, share: 3 }))
    const others = ['a', 'b', 'z'].map((resource) => ({ resource }))
    for (const [n, more] of [...rooms.map((resource) => ({ resource })), ...shared, ...others].entries())
      await bed.store.acquire({ ...LEASE, ttl: 600_000, id: `${n}`, ...more })
    const visitor = bed.browser()
    for (const limit of [1, 2, 3, 4, 5, 6, 100]) {
      const seen: string[] = []
      let after: string | undefined = ''
      while (after !== undefined) {
        const path = `/api/leases?limit=${limit}&after=${encodeURIComponent(after)}`
        const { body } = await visitor.call('GET', path)
        expect(JSON.stringify(body)).not.toContain('document')
        seen.push(...Object(body).leases.map(({ resource }: { resource: string }) => resource))
        after = Object(body).next
      }
      expect([limit, ...seen]).toEqual([limit, 'a', 'b', 'job', 'job', 'job', 'z'])
    }
  })
})

async function signed({ clock }: ServiceBed, { method, path, body }: Call): Promise<Call> {
  const text = body === undefined ? '' : JSON.stringify(body)
  const { pathname, searchParams } = new URL(path, 'http://a.test')
  const parameters = {
    auth_key: 'holdfast',
    auth_timestamp: String(Math.floor(clock.now() / 1000)),
    auth_version: '1.0',
    ...(text && { body_md5: bytesToHex(md5(utf8ToBytes(text))) }),
    ...Object.fromEntries(searchParams),
  }
  const sorted = Object.entries(parameters).sort(([a], [b]) => (a < b ? -1 : 1))
  const covered = [method, decodeURI(pathname), sorted.map((pair) => pair.join('=')).join('&')].join('\n')
  const auth_signature = await new Signer(SECRETS.channelSecret).sign(covered)
  const query = new URLSearchParams({ ...parameters, auth_signature })
  return { method, path: `${pathname}?${query}`, body: text || undefined }
}
