import * as v from 'valibot'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  ADMIN_TOKEN,
  type Answer,
  type Browser,
  LEASE_TOKEN,
  type ServiceBed,
  serviceBed,
} from '../../../test/server/service-bed.ts'
import { errorBody } from '../../protocol/index.ts'
import type { Service } from '../service.ts'
import { allRoutes } from './app.ts'
import type { Route } from './route.ts'

const DOCUMENT = '/api/documents/room-1'
const LOCK = `${DOCUMENT}/lock`
const LEASE = '/api/leases/job'
const ASK = { id: 'ask-1', owner: 'worker', ttl: 10_000 }

let bed: ServiceBed
let senders: Readonly<Record<'user' | 'other' | 'lease' | 'admin', Browser>>
beforeEach(async () => {
  bed = await serviceBed({ onTelemetry: () => {}, settings: { grace: 0, answerWithin: 1000 } })
  senders = {
    user: bed.browser('tab-1'),
    other: bed.browser('tab-2'),
    lease: bed.program(LEASE_TOKEN),
    admin: bed.program(ADMIN_TOKEN),
  }
})
afterEach(() => bed[Symbol.asyncDispose]())

type Who = keyof typeof senders
type Step = readonly [who: Who, method: string, path: string, body?: unknown]

/** The steps before it, the call, and the expected answer. */
const CALLS: readonly (readonly [
  title: string,
  before: readonly Step[],
  call: Step,
  status: number,
  body: object,
])[] = [
  [
    'a free room is locked',
    [],
    ['user', 'POST', LOCK],
    200,
    { success: true, expires_in_ms: 30_000, ttl_ms: 30_000 },
  ],
  [
    'the holder locks again and renews',
    [['user', 'POST', LOCK]],
    ['user', 'POST', LOCK],
    200,
    { success: true },
  ],
  [
    'a locked room is refused',
    [['user', 'POST', LOCK, { name: 'Mika' }]],
    ['other', 'POST', LOCK],
    409,
    { error: 'already_locked', holder: { name: 'Mika', is_you: false }, place: null },
  ],
  [
    'a heartbeat',
    [['user', 'POST', LOCK]],
    ['user', 'PUT', LOCK],
    200,
    { success: true, expires_in_ms: 30_000 },
  ],
  ['a heartbeat without a lock', [], ['user', 'PUT', LOCK], 404, { error: 'lock_not_found' }],
  [
    'a heartbeat of another client',
    [['user', 'POST', LOCK]],
    ['other', 'PUT', LOCK],
    403,
    { error: 'not_locked_by_user' },
  ],
  ['an unlock', [['user', 'POST', LOCK]], ['user', 'DELETE', LOCK], 200, { success: true }],
  ['an unlock without a lock', [], ['user', 'DELETE', LOCK], 200, { success: true }],
  [
    'an unlock by another client',
    [['user', 'POST', LOCK]],
    ['other', 'DELETE', LOCK],
    403,
    { error: 'not_locked_by_user' },
  ],
  [
    'an unlock with another token',
    [['user', 'POST', LOCK]],
    ['user', 'DELETE', `${LOCK}?token=1`],
    409,
    { error: 'stale_token' },
  ],
  [
    'a late beacon',
    [['user', 'POST', LOCK]],
    ['user', 'POST', `${LOCK}/release`, { client_id: 'tab-1', token: 1 }],
    409,
    { error: 'stale_token' },
  ],
  [
    'a beacon without a lock',
    [],
    ['user', 'POST', `${LOCK}/release`, { client_id: 'tab-1', token: 1 }],
    200,
    { success: true },
  ],
  [
    'a free room',
    [],
    ['user', 'GET', LOCK],
    200,
    { is_locked: false, waiting: [], heartbeat_ms: 10_000, grace_ms: 0, answer_within_ms: 1000 },
  ],
  [
    'a locked room',
    [['user', 'POST', LOCK]],
    ['other', 'GET', LOCK],
    200,
    { is_locked: true, holder: { is_you: false } },
  ],
  ['a takeover of a free room', [], ['user', 'POST', `${LOCK}/takeover`], 200, { success: true }],
  ['a handoff request for a free room', [], ['user', 'POST', `${LOCK}/request`], 200, { success: true }],
  [
    'an answer without a lock',
    [],
    ['user', 'POST', `${LOCK}/request/answer`, { request_id: 'x', granted: true }],
    404,
    { error: 'lock_not_found' },
  ],
  [
    'an answer by another client than the holder',
    [['user', 'POST', LOCK]],
    ['other', 'POST', `${LOCK}/request/answer`, { request_id: 'x', granted: true }],
    403,
    { error: 'not_locked_by_user' },
  ],
  [
    'the answer of the holder to an unknown request',
    [['user', 'POST', LOCK]],
    ['user', 'POST', `${LOCK}/request/answer`, { request_id: 'x', granted: false }],
    404,
    { error: 'request_not_found' },
  ],
  [
    'a document that was never saved',
    [],
    ['user', 'GET', DOCUMENT],
    200,
    { content: null, token: null, saved_at: null, revision: 0 },
  ],
  [
    'a save without a lock',
    [],
    ['user', 'PUT', DOCUMENT, { content: 'x', token: 1 }],
    409,
    { error: 'stale_token' },
  ],
  [
    'a deletion by the holder',
    [['user', 'POST', LOCK]],
    ['user', 'DELETE', DOCUMENT],
    200,
    { success: true },
  ],
  ['a deletion without a lock', [], ['user', 'DELETE', DOCUMENT], 404, { error: 'lock_not_found' }],
  [
    'a deletion by another client',
    [['user', 'POST', LOCK]],
    ['other', 'DELETE', DOCUMENT],
    403,
    { error: 'not_locked_by_user' },
  ],
  [
    'a deletion by an administrator',
    [['user', 'POST', LOCK]],
    ['admin', 'DELETE', DOCUMENT],
    200,
    { success: true },
  ],
  [
    'the locks of many rooms',
    [['user', 'POST', LOCK, { name: 'Mika' }]],
    ['user', 'POST', '/api/documents/locks', { rooms: ['room-2', 'room-1'] }],
    200,
    {
      locks: [
        { room_id: 'room-2', waiting: [], waiting_count: 0, is_locked: false },
        { room_id: 'room-1', waiting_count: 0, is_locked: true, holder: { name: 'Mika', is_you: true } },
      ],
    },
  ],
  [
    'the locks of a room with a name that is too long',
    [],
    ['user', 'POST', '/api/documents/locks', { rooms: ['x'.repeat(401)] }],
    400,
    { error: 'invalid_room' },
  ],
  [
    'a lease',
    [],
    ['lease', 'POST', LEASE, ASK],
    200,
    { granted: true, lease: { resource: 'job', id: 'ask-1', state: 'held' } },
  ],
  [
    'a lease by its name in the query',
    [],
    ['lease', 'POST', '/api/leases?resource=..', ASK],
    200,
    { lease: { resource: '..' } },
  ],
  [
    'a lease that others may hold too',
    [],
    ['lease', 'POST', LEASE, { ...ASK, share: 'unlimited', atLeast: 1000, lockDelay: 1000 }],
    200,
    { granted: true, lease: { share: 'unlimited' } },
  ],
  ...[{ share: 0 }, { share: 1.5 }, { share: 'many' }, { share: null }].map(
    (more) =>
      [
        `a share of ${JSON.stringify(more.share)}`,
        [],
        ['lease', 'POST', LEASE, { ...ASK, ...more }],
        400,
        { error: 'invalid_body' },
      ] as const,
  ),
  [
    'a time that is too long to keep a resource',
    [],
    ['lease', 'POST', LEASE, { ...ASK, atLeast: 2_147_483_648 }],
    400,
    { error: 'invalid_body' },
  ],
  [
    'a share of the lock of a document',
    [],
    ['admin', 'POST', '/api/leases/document:room-1', { ...ASK, share: 2 }],
    400,
    { error: 'share_unsupported', message: 'share: the lock of a document is exclusive' },
  ],
  [
    'one lease more than the permits',
    [
      ['lease', 'POST', LEASE, { ...ASK, share: 2 }],
      ['lease', 'POST', LEASE, { ...ASK, id: 'ask-2', share: 'unlimited' }],
    ],
    ['lease', 'POST', LEASE, { ...ASK, id: 'ask-3', share: 'unlimited' }],
    409,
    {
      error: 'lease_held',
      holder: { id: 'ask-1', share: 2 },
      holders: [{ id: 'ask-1' }, { id: 'ask-2', share: 'unlimited' }],
    },
  ],
  [
    'a lease that is kept after its release',
    [
      ['lease', 'POST', LEASE, { ...ASK, atLeast: 60_000 }],
      ['lease', 'DELETE', LEASE, { id: 'ask-1' }],
    ],
    ['lease', 'POST', LEASE, { ...ASK, id: 'ask-2' }],
    409,
    { holder: null, holders: [], keptFor: 60_000, message: expect.stringContaining('60000 ms more') },
  ],
  [
    'a lease that is stolen',
    [['lease', 'POST', LEASE, { ...ASK, share: 2 }]],
    ['lease', 'POST', LEASE, { ...ASK, id: 'ask-2', replace: 'any' }],
    200,
    { lease: { share: null }, replaced: { id: 'ask-1', share: 2, state: 'taken-over' } },
  ],
  [
    'several leases, with their waiters',
    [
      ['lease', 'POST', LEASE, { ...ASK, share: 1 }],
      ['lease', 'POST', LEASE, { ...ASK, id: 'ask-2', share: 'unlimited', wait: true }],
    ],
    ['lease', 'GET', `${LEASE}?waiting=10`],
    200,
    {
      leases: [{ id: 'ask-1' }],
      holders: [[{ id: 'ask-1', share: 1 }]],
      queues: [{ count: 1, first: [{ id: 'ask-2', share: 'unlimited', place: 0 }] }],
    },
  ],
  [
    'a lease with too much metadata',
    [],
    ['lease', 'POST', LEASE, { ...ASK, metadata: { text: '鍵'.repeat(1400) } }],
    400,
    { error: 'invalid_body' },
  ],
  [
    'a lease whose name is not UTF-8',
    [],
    ['lease', 'POST', '/api/leases/%ff', ASK],
    400,
    { error: 'invalid_argument' },
  ],
  [
    'a lease whose name in the query is not UTF-8',
    [],
    ['lease', 'GET', '/api/leases?resource=%ff'],
    400,
    { error: 'invalid_argument' },
  ],
  ['a lease without a name', [], ['lease', 'POST', '/api/leases', ASK], 400, { error: 'invalid_query' }],
  [
    'a lease that another id holds',
    [['lease', 'POST', LEASE, ASK]],
    ['lease', 'POST', LEASE, { ...ASK, id: 'ask-2', wait: true }],
    409,
    { granted: false, place: 0, holders: [{ id: 'ask-1' }] },
  ],
  [
    'a renewal',
    [['lease', 'POST', LEASE, ASK]],
    ['lease', 'PUT', LEASE, { id: 'ask-1', ttl: 20_000 }],
    200,
    { ok: true, lease: { remaining: 20_000 } },
  ],
  [
    'a renewal without a lease',
    [],
    ['lease', 'PUT', LEASE, { id: 'ask-1', ttl: 20_000 }],
    409,
    { error: 'lease_lost', ok: false, holders: [] },
  ],
  [
    'a release by id',
    [['lease', 'POST', LEASE, ASK]],
    ['lease', 'DELETE', LEASE, { id: 'ask-1' }],
    200,
    { ended: { id: 'ask-1', state: 'released' } },
  ],
  [
    'a release by a wrong token',
    [['lease', 'POST', LEASE, ASK]],
    ['lease', 'DELETE', LEASE, { token: 1 }],
    200,
    { ended: null, holders: [{ id: 'ask-1' }] },
  ],
  [
    'a lease to read',
    [['lease', 'POST', LEASE, ASK]],
    ['lease', 'GET', LEASE],
    200,
    { leases: [{ id: 'ask-1' }] },
  ],
  [
    'leases by name',
    [['lease', 'POST', LEASE, ASK]],
    ['lease', 'GET', '/api/leases?resource=none&resource=job'],
    200,
    { leases: [null, { id: 'ask-1' }] },
  ],
  [
    'leases by prefix',
    [['lease', 'POST', LEASE, ASK]],
    ['lease', 'GET', '/api/leases?prefix=jo&limit=1'],
    200,
    { leases: [{ id: 'ask-1' }] },
  ],
  [
    'the waiters for a lease',
    [
      ['lease', 'POST', LEASE, ASK],
      ['lease', 'POST', LEASE, { ...ASK, id: 'ask-2', wait: true }],
    ],
    ['lease', 'GET', `${LEASE}?waiting=10`],
    200,
    { leases: [{}], queues: [{ count: 1, first: [{ id: 'ask-2', owner: 'worker', place: 0 }] }] },
  ],
  [
    'the waiters for leases with a prefix',
    [
      ['lease', 'POST', LEASE, ASK],
      ['lease', 'POST', LEASE, { ...ASK, id: 'ask-2', wait: true }],
      ['lease', 'POST', '/api/leases/other', ASK],
    ],
    ['lease', 'GET', '/api/leases?prefix=&waiting=0'],
    200,
    {
      leases: [{}, {}],
      queues: [
        { count: 1, first: [] },
        { count: 0, first: [] },
      ],
    },
  ],
  [
    'a renewal and two releases at once, each with its own answer',
    [['lease', 'POST', LEASE, ASK]],
    [
      'lease',
      'POST',
      '/api/batch',
      {
        calls: [
          { method: 'PUT', resource: 'job', body: { id: 'ask-1', ttl: 20_000 } },
          { method: 'DELETE', resource: '\n', body: { id: 'ask-1' } },
          { method: 'DELETE', resource: 'job', body: { id: 'ask-1' } },
        ],
      },
    ],
    200,
    {
      answers: [
        { status: 200, body: { ok: true, lease: { id: 'ask-1' } } },
        { status: 400, body: { error: 'invalid_argument' } },
        { status: 200, body: { ended: { id: 'ask-1', state: 'released' } } },
      ],
    },
  ],
  [
    'a batch is closed to sessions, for each of its resources',
    [['lease', 'POST', LEASE, ASK]],
    ['user', 'POST', '/api/batch', { calls: [{ method: 'DELETE', resource: 'job', body: { id: 'ask-1' } }] }],
    200,
    { answers: [{ status: 403, body: { error: 'forbidden' } }] },
  ],
  ['a sweep', [], ['lease', 'POST', '/api/sweep', { limit: 10 }], 200, { leases: [] }],
  ['the lease API is closed to sessions', [], ['user', 'POST', LEASE, ASK], 403, { error: 'forbidden' }],
  [
    'the list',
    [['user', 'POST', LOCK]],
    ['lease', 'GET', '/api/locks'],
    200,
    { locks: [{ resource: 'document:room-1', waiting: 0 }] },
  ],
  [
    'one of the list',
    [
      ['lease', 'POST', LEASE, ASK],
      ['lease', 'POST', LEASE, { ...ASK, id: 'ask-2', wait: true }],
    ],
    ['lease', 'GET', '/api/locks/job'],
    200,
    { lock: { resource: 'job', owner: 'worker' }, waiting: 1, queue: [{ owner: 'worker', place: 0 }] },
  ],
  [
    'one that nobody holds',
    [],
    ['lease', 'GET', '/api/locks/job'],
    200,
    { lock: null, waiting: 0, queue: [] },
  ],
  [
    'one of the list is closed to sessions',
    [],
    ['user', 'GET', '/api/locks/job'],
    403,
    { error: 'forbidden' },
  ],
  ['the list is closed to sessions', [], ['user', 'GET', '/api/locks'], 403, { error: 'forbidden' }],
  [
    'a forced release',
    [['user', 'POST', LOCK]],
    ['admin', 'DELETE', '/api/locks/document:room-1'],
    200,
    { success: true },
  ],
  [
    'a forced release of nothing',
    [],
    ['admin', 'DELETE', '/api/locks/document:room-1'],
    404,
    { error: 'lock_not_found' },
  ],
  [
    'a forced release is for administrators',
    [['user', 'POST', LOCK]],
    ['lease', 'DELETE', '/api/locks/document:room-1'],
    403,
    { error: 'forbidden' },
  ],
  [
    'the audit trail',
    [
      ['user', 'POST', LOCK],
      ['user', 'DELETE', LOCK],
    ],
    ['admin', 'GET', '/api/audit?limit=1'],
    200,
    { entries: [{ action: 'unlock' }], next: 2 },
  ],
  ['the audit trail is for administrators', [], ['user', 'GET', '/api/audit'], 403, { error: 'forbidden' }],
  [
    'the figures',
    [['user', 'POST', LOCK]],
    ['admin', 'GET', '/api/stats'],
    200,
    { live: 1, waiters: 0, bucket_ms: 10_000 },
  ],
  [
    'a private channel',
    [],
    ['user', 'POST', '/broadcasting/auth', 'socket_id=1.2&channel_name=private-document.room-1'],
    200,
    { auth: expect.stringMatching(/^holdfast:[0-9a-f]{64}$/) },
  ],
  [
    'a presence channel',
    [],
    ['user', 'POST', '/broadcasting/auth', 'socket_id=1.2&channel_name=presence-document.room-1'],
    200,
    { channel_data: expect.stringContaining('user_id') },
  ],
  [
    'the channel of all leases is for observers',
    [],
    ['user', 'POST', '/broadcasting/auth', 'socket_id=1.2&channel_name=private-holdfast.leases'],
    403,
    { error: 'forbidden' },
  ],
  [
    'an unknown channel',
    [],
    ['admin', 'POST', '/broadcasting/auth', 'socket_id=1.2&channel_name=private-other'],
    403,
    { error: 'forbidden' },
  ],
  [
    'a public channel needs no signature',
    [],
    ['admin', 'POST', '/broadcasting/auth', 'socket_id=1.2&channel_name=document.x'],
    403,
    { error: 'forbidden' },
  ],
  [
    'the sign-in of a user',
    [],
    ['user', 'POST', '/broadcasting/user-auth', 'socket_id=1.2'],
    200,
    { auth: expect.stringMatching(/^holdfast:[0-9a-f]{64}$/) },
  ],
  [
    'an event without a signature',
    [],
    ['admin', 'POST', '/apps/holdfast/events', { name: 'a', data: '', channel: 'b' }],
    401,
    { error: 'invalid_signature' },
  ],
  [
    'telemetry',
    [],
    ['lease', 'POST', '/telemetry', { events: [{ type: 'acquired', at: 1 }] }],
    202,
    { accepted: 1 },
  ],
  [
    'telemetry of a session',
    [],
    ['user', 'POST', '/telemetry', { events: [{ type: 'acquired', at: 1 }] }],
    403,
    { error: 'forbidden' },
  ],
  ['health', [], ['user', 'GET', '/healthz'], 200, { status: 'ok' }],
  ['readiness', [], ['user', 'GET', '/readyz'], 200, { status: 'ready' }],
  ['metrics without a meter', [], ['user', 'GET', '/metrics'], 404, { error: 'metrics_off' }],
  ['the OpenAPI document', [], ['user', 'GET', '/openapi.json'], 200, { openapi: '3.1.0' }],
  ['an unknown path', [], ['user', 'GET', '/api/nothing'], 404, { error: 'not_found' }],
  [
    'an unknown path that ends like a route',
    [],
    ['user', 'GET', '/foo/api/leases'],
    404,
    { error: 'not_found' },
  ],
  ['a preflight of an unknown path', [], ['user', 'OPTIONS', '/api/nothing'], 404, { error: 'not_found' }],
  ['another method', [], ['user', 'PUT', '/api/locks'], 405, { error: 'method_not_allowed' }],
]

describe('the routes', () => {
  it.each(CALLS)('%s', async (_, before, call, status, body) => {
    for (const step of before) await run(step)
    const answer = await run(call)
    expect(answer.body).toMatchObject(body)
    expect(answer.status).toBe(status)
    expectDocumented(call, answer)
  })

  it('the routes are each called above', () => {
    const called = new Set(CALLS.map(([, , call]) => routeOf(call)?.id))
    // Those with a signature are called by the package pusher, in a test of their own.
    const unsigned = ROUTES.filter(({ signed }) => !signed).map(({ id }) => id)
    expect(unsigned.filter((id) => !called.has(id))).toEqual(['renewLeaseByQuery', 'releaseLeaseByQuery'])
  })

  it('the routes are all known to the fast router, and the list of locks is no room', async () => {
    expect((await run(['user', 'POST', '/api/documents/locks', { rooms: ['a'] }])).status).toBe(200)
    expect((await run(['user', 'POST', '/api/documents/lock', { rooms: ['a'] }])).status).toBe(405)
    expect(bed.server.app.router.name).toContain('RegExpRouter')
  })

  it('the routes agree with the OpenAPI document, one by one', async () => {
    const { paths } = (await run(['user', 'GET', '/openapi.json'])).body as unknown as OpenApi
    const documented = Object.entries(paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    )
    const served = bed.server.app.routes
      .filter(({ method }) => method !== 'OPTIONS')
      .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`)
      // The pattern of this route is that of a room.
      .map((call) => (call === 'POST /api/documents/{roomId}' ? 'POST /api/documents/locks' : call))
    expect(documented.toSorted()).toEqual(served.toSorted())
    for (const { method, path, answers, body, query = {} } of ROUTES) {
      const operation = paths[path]?.[method.toLowerCase()]
      expect(Object.keys(operation?.responses ?? {})).toEqual([...Object.keys(answers), 'default'])
      expect(operation?.requestBody !== undefined).toBe(body !== undefined)
      const inQuery = operation?.parameters.filter((parameter) => parameter.in === 'query')
      expect(inQuery?.map(({ name }) => name)).toEqual(Object.keys(query))
    }
  })

  it('the routes know a token that contains spaces', async () => {
    const token = 'a long random text'
    await using other = await serviceBed({ settings: { leaseTokens: [token] } })
    expect((await other.program(token).call('GET', '/api/leases')).status).toBe(200)
  })

  it('describe in it which bodies may be empty or a form, and the name of the cookie', async () => {
    await using other = await serviceBed({ settings: { cookieName: 'sid' } })
    const answer = await other.browser().call('GET', '/openapi.json')
    const { paths, components } = answer.body as unknown as OpenApi
    const bodies = Object.values(paths)
      .flatMap((operations) => Object.values(operations))
      .flatMap(({ operationId, requestBody }) => (requestBody ? [{ operationId, ...requestBody }] : []))
    const idsOf = (found: typeof bodies) => found.map(({ operationId }) => operationId)
    expect(idsOf(bodies.filter(({ required }) => !required))).toEqual([
      'lock',
      'beat',
      'takeOver',
      'requestLock',
    ])
    const form = 'application/x-www-form-urlencoded'
    expect(idsOf(bodies.filter(({ content }) => form in content))).toEqual([
      'authorizeChannel',
      'authorizeUser',
    ])
    expect(components).toMatchObject({ securitySchemes: { session: { in: 'cookie', name: 'sid' } } })
  })
})

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: object
}

interface Operation {
  readonly operationId: string
  readonly responses: object
  readonly requestBody?: { readonly required: boolean; readonly content: object }
  readonly parameters: readonly { readonly name: string; readonly in: string }[]
}

/** Only the table: a route uses the service only when it handles a request. */
const ROUTES: readonly Route[] = allRoutes({ settings: {} } as Service)

async function run([who, method, path, body]: Step): Promise<Answer> {
  return senders[who].call(method, path, body)
}

function routeOf([, method, path]: Step): Route | undefined {
  const { pathname } = new URL(path, 'http://test')
  return ROUTES.find(
    (route) =>
      route.method === method && new RegExp(`^${route.path.replace(/\{\w+\}/g, '[^/]+')}$`).test(pathname),
  )
}

/** The answer fits a schema of the OpenAPI document, or is an error. */
function expectDocumented(call: Step, { status, body }: Answer): void {
  const schema = routeOf(call)?.answers[status] ?? errorBody
  expect(v.safeParse(schema, body).issues ?? []).toEqual([])
}
