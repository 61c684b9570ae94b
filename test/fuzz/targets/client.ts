/** What servers, proxies and other versions answer to a page or a program, and what they say on its socket. */

import { asLeaseError, LeaseError } from '../../../src/base/errors.ts'
import type { LeaseRecord } from '../../../src/base/records.ts'
import { httpStore } from '../../../src/client/http-store.ts'
import { createDocumentLock, type DocumentLockState } from '../../../src/client/index.ts'
import { FakeClock, settled } from '../../../src/testing/fake-clock.ts'
import { LEASE_TOKEN, ORIGIN, serviceBed } from '../../server/service-bed.ts'
import { type Input, type Target, type Verdict, verdictOf } from '../target.ts'

/** The answers of a real server, as texts. */
async function recordAnswers() {
  await using bed = await serviceBed()
  const page = bed.browser('tab-1')
  const other = bed.browser('tab-2')
  const program = bed.program(LEASE_TOKEN)
  // Ids are random, and a seed must mean the same input in every run.
  const textOf = ({ body }: { readonly body: unknown }) =>
    JSON.stringify(body).replace(/"[0-9a-f]{16}"/g, '"0123456789abcdef"')
  const locked = await page.call('POST', '/api/documents/room-1/lock')
  const content = { token: locked.body.token, content: { words: 'a' } }
  const ask = { id: 'a', owner: 'Ann', ttl: 30_000, metadata: { a: 1 }, share: 5 }
  const lease = (method: string, path: string, body?: object) =>
    program.call(method, `/api/leases${path}`, body)
  return {
    locked: textOf(locked),
    refused: textOf(await other.call('POST', '/api/documents/room-1/lock')),
    shown: textOf(await other.call('GET', '/api/documents/room-1/lock')),
    saved: textOf(await page.call('PUT', '/api/documents/room-1', content)),
    content: textOf(await page.call('GET', '/api/documents/room-1')),
    free: textOf(await page.call('GET', '/api/documents/room-2/lock')).replaceAll('room-2', 'room-1'),
    unlocked: textOf(await page.call('DELETE', '/api/documents/room-1/lock')),
    granted: textOf(await lease('POST', '/a', ask)),
    held: textOf(await lease('POST', '/a', { ...ask, id: 'b', share: undefined })),
    renewed: textOf(await lease('PUT', '/a', { id: 'a', ttl: 30_000 })),
    lost: textOf(await lease('PUT', '/a', { id: 'c', ttl: 30_000 })),
    read: textOf(await lease('GET', '?resource=a&waiting=5')),
    list: textOf(await lease('GET', '?limit=1')),
    released: textOf(await lease('DELETE', '/a', { id: 'a' })),
    swept: textOf(await program.call('POST', '/api/sweep', { limit: 5 })),
  }
}

const REAL = await recordAnswers()

const answer = (kind: keyof typeof CALLS, status: string, body: string): Input => ({
  kind,
  status,
  headers: '',
  body,
})

type Calls = ReturnType<typeof httpStore>
const resource = 'a'
const ask = { resource, id: 'a', owner: 'Ann', ttl: 30_000, metadata: { a: 1 } }

/** Each returns the leases that the caller is shown. */
const CALLS: Readonly<Record<string, (store: Calls) => Promise<readonly LeaseRecord[]>>> = {
  async acquire(store) {
    const found = await store.acquire({ ...ask, share: 5 })
    return found.granted ? [found.lease, ...(found.replaced ? [found.replaced] : [])] : found.holders
  },
  async renew(store) {
    const found = await store.renew({ resource, id: 'a', ttl: 30_000 })
    return found.ok ? [found.lease] : found.holders
  },
  async release(store) {
    const { ended, holders } = await store.release({ resource, id: 'a' })
    return ended ? [ended, ...holders] : holders
  },
  read: async (store) => (await store.read([resource])).flat(),
  async waiting(store) {
    for (const { count, first } of (await store.waiting?.({ resources: [resource], limit: 5 })) ?? [])
      if (!Number.isInteger(count) || !Array.isArray(first)) throw new TypeError('not a queue')
    return []
  },
  list: async (store) => (await store.list({ limit: 5 })).leases,
  sweep: (store) => store.sweep({ limit: 5 }),
}

export const answers: Target = {
  corpus: [
    answer('acquire', '200', REAL.granted),
    answer('acquire', '409', REAL.held),
    answer('renew', '200', REAL.renewed),
    answer('renew', '409', REAL.lost),
    answer('release', '200', REAL.released),
    answer('read', '200', REAL.read),
    answer('waiting', '200', REAL.read),
    answer('list', '200', REAL.list),
    answer('sweep', '200', REAL.swept),
    { ...answer('list', '429', '{"error":"rate_limited","message":"too fast"}'), headers: 'Retry-After: 5' },
    { ...answer('list', '503', 'Bad gateway'), headers: 'Retry-After: Tue, 01 Jan 2030 12:00:00 GMT' },
    { ...answer('list', '200', REAL.list), headers: 'X-Holdfast-Protocol: 2' },
    answer('acquire', '400', '{"error":"share_unsupported","message":"no share"}'),
  ],
  open() {
    let current: Input = {}
    const restore = withGlobal('fetch', async () => responseOf(current))
    return {
      async feed(input) {
        const call = CALLS[input['kind'] ?? '']
        if (!call || !isSendable(input)) return 'unsendable'
        current = input
        await using store = httpStore(ORIGIN, { token: LEASE_TOKEN })
        return await verdictOf(async () => (await call(store)).forEach(expectRecord))
      },
      close: async () => restore(),
    }
  },
}

const { locked: lock, free: read, content, saved, unlocked } = REAL
const page = { read, lock, content, saved, unlocked }

/** Every field of the input is an answer, or a frame of the socket. */
export const lockAnswers: Target = {
  corpus: [
    page,
    { ...page, read: REAL.shown },
    { ...page, lock: REAL.refused },
    { ...page, lock: REAL.shown, content: '{}', saved: '{}', unlocked: '{}' },
  ].map((answers) => ({
    ...answers,
    ...framesOf('document.locked', { ...JSON.parse(REAL.locked), room_id: 'room-1' }),
  })),
  open: () => openPages(),
}

const person = { session_id: 's', client_id: 'c', name: 'Ann' }
const { token } = JSON.parse(REAL.locked)
const EVENTS: readonly (readonly [event: string, data: object])[] = [
  [
    'document.locked',
    {
      room_id: 'room-1',
      token: token + 1,
      ...person,
      locked_at: '2030-01-01T12:00:00.000Z',
      expires_in_ms: 5,
    },
  ],
  [
    'document.renewed',
    { room_id: 'room-1', token, holder: person, locked_at: '2030-01-01T12:00:00.000Z', expires_in_ms: 5 },
  ],
  ['document.unlocked', { room_id: 'room-1', token, reason: 'expired' }],
  ['document.line', { room_id: 'room-1', line: [person], waiting_count: 1 }],
  ['document.saved', { room_id: 'room-1', token, saved_at: '2030-01-01T12:00:00.000Z' }],
  ['document.deleted', { room_id: 'room-1' }],
  [
    'document.takeover-requested',
    {
      room_id: 'room-1',
      request_id: 'r',
      kind: 'request',
      by: person,
      passes: [person],
      answer_within_ms: 5000,
      grace_ms: 5000,
    },
  ],
  [
    'document.takeover-postponed',
    { room_id: 'room-1', request_id: 'r', by: person, postponed_ms: 5, answer_within_ms: 5 },
  ],
  ['document.takeover-answered', { room_id: 'room-1', request_id: 'r', granted: false }],
  ['pusher_internal:subscription_succeeded', { presence: { count: 1, ids: ['7'], hash: { 7: person } } }],
  ['pusher_internal:member_added', { user_id: '7', user_info: person }],
  ['pusher_internal:member_removed', { user_id: '7' }],
  ['pusher:subscription_error', { type: 'AuthError', error: 'no', status: 401 }],
  ['pusher:connection_established', { socket_id: '1.2', activity_timeout: 30 }],
  ['pusher:ping', {}],
]

export const socket: Target = {
  corpus: EVENTS.map(([event, data]) => ({ ...page, ...framesOf(event, data) })),
  open: () => openPages(),
}

function framesOf(event: string, data: object): { readonly first: string; readonly second: string } {
  const { channel } = JSON.parse(REAL.locked)
  const established = { socket_id: '1.2', activity_timeout: 30 }
  const data1 = JSON.stringify(established)
  return {
    first: JSON.stringify({ event: 'pusher:connection_established', data: data1 }),
    second: JSON.stringify({ event, channel, data: JSON.stringify(data) }),
  }
}

/** A page with a lock, for each input. */
function openPages() {
  let current: Input = {}
  const sockets: PageSocket[] = []
  class PageSocket {
    readonly readyState = 1
    onmessage: ((message: { readonly data: string }) => void) | undefined
    onclose: (() => void) | undefined
    constructor() {
      sockets.push(this)
    }
    send(): void {}
    close(): void {}
  }
  const restores = [
    withGlobal('WebSocket', PageSocket),
    withGlobal('fetch', async (url: URL, { method }: RequestInit) => {
      const isLock = url.pathname.includes('/lock')
      const body = isLock
        ? current[{ GET: 'read', DELETE: 'unlocked' }[method ?? ''] ?? 'lock']
        : current[method === 'GET' ? 'content' : 'saved']
      const isRefusal = isLock && method !== 'GET' && /"error":"/.test(body ?? '')
      return new Response(body ?? '', { status: isRefusal ? 409 : 200 })
    }),
  ]
  return {
    async feed(input: Input): Promise<Verdict> {
      current = input
      sockets.length = 0
      const clock = new FakeClock(Date.UTC(2030, 0, 1, 12))
      const lock = createDocumentLock('room-1', { url: ORIGIN, clientId: 'tab-1', clock, presence: true })
      const calls = async () => {
        const held = await lock.acquire()
        await lock.load()
        await (held ? lock.save({ words: 'b' }) : lock.requestHandoff())
        return held
      }
      const calling = calls().catch((error: unknown) => {
        if (error instanceof LeaseError) return false
        throw error
      })
      const held = await within(clock, calling)
      for (const text of [input['first'], input['second']]) {
        for (const { onmessage } of [...sockets]) onmessage?.({ data: text ?? '' })
        await settled()
      }
      await clock.advance(1000)
      expectState(lock.state)
      const closing = lock.close().catch((error: unknown) => void asLeaseError(error))
      await within(clock, closing)
      return held ? 'accepted' : 'refused'
    },
    async close() {
      for (const restore of restores) restore()
    },
  }
}

const MOST_SECONDS = 120

async function within<T>(clock: FakeClock, work: Promise<T>): Promise<T> {
  let isOver = false
  const noticed = work.finally(() => {
    isOver = true
  })
  noticed.catch(() => {})
  for (let second = 0; second < MOST_SECONDS && !isOver; second++) {
    await settled()
    if (!isOver) await clock.advance(1000)
  }
  if (!isOver) throw new Error('a call does not end')
  return noticed
}

function expectState(state: DocumentLockState): void {
  const { phase, held, me, holder, token, place, waiting, waiters, people, savedAt, error } = state
  const persons = [me, holder, ...waiters, ...people].filter((found) => found !== null)
  for (const { sessionId, name } of persons)
    if (typeof sessionId !== 'string' || !(name === null || typeof name === 'string'))
      throw new TypeError('not a person')
  if (typeof phase !== 'string' || typeof held !== 'boolean') throw new TypeError('not a phase')
  if (!(savedAt === null || typeof savedAt === 'string')) throw new TypeError('not a time')
  for (const number of [token, place, waiting, holder?.token ?? null, holder?.expiresAt ?? null])
    if (number !== null && typeof number !== 'number') throw new TypeError(`${typeof number} for a number`)
  if (error !== null && !(error instanceof LeaseError)) throw error
}

function expectRecord(record: LeaseRecord): void {
  const { resource, id, owner, token, state } = record
  if (![resource, id, owner, state].every((text) => typeof text === 'string'))
    throw new TypeError('not a lease')
  if (!Number.isSafeInteger(token)) throw new TypeError('not a token')
}

function responseOf({ status = '', headers = '', body = '' }: Input): Response {
  const sent = new Headers()
  for (const line of headers.split('\n')) {
    const at = line.indexOf(':')
    if (at > 0) sent.append(line.slice(0, at), line.slice(at + 1).trim())
  }
  return new Response(body, { status: Number(status), headers: sent })
}

function isSendable(input: Input): boolean {
  try {
    return responseOf(input).ok !== undefined
  } catch {
    return false
  }
}

/** Returns how to restore it. */
function withGlobal(name: 'fetch' | 'WebSocket', value: unknown): () => void {
  const given = Object.getOwnPropertyDescriptor(globalThis, name)
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
  return () => given && Object.defineProperty(globalThis, name, given)
}
