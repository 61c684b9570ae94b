/** Requests of strangers to the whole server, and the cookies that it gives and reads. */
import { setTimeout as delay } from 'node:timers/promises'
import { settingsOf } from '../../../src/configuration/settings.ts'
import { sessionCookies } from '../../../src/server/session-cookie.ts'
import { FakeClock } from '../../../src/testing/fake-clock.ts'
import { ADMIN_TOKEN, LEASE_TOKEN, ORIGIN, SECRETS, serviceBed } from '../../server/service-bed.ts'
import type { Input, Target, Verdict } from '../target.ts'

const PAGE = `Origin: ${ORIGIN}\nX-Holdfast-Client: tab-1`
const PROGRAM = `Authorization: Bearer ${LEASE_TOKEN}`
const ADMIN = `Authorization: Bearer ${ADMIN_TOKEN}`
const ask = { id: 'a', owner: 'Ann', ttl: 30_000 }
const record = { v: 1, at: '2030-01-01T12:00:00.000Z', stream: 'lease', type: 'acquired', token: 5 }

function request(method: string, path: string, headers: string, body: object | string = ''): Input {
  return { method, path, headers, body: typeof body === 'string' ? body : JSON.stringify(body) }
}

const CORPUS: readonly Input[] = [
  request('POST', '/api/documents/room-1/lock', PAGE),
  request('POST', '/api/documents/room-1/lock?wait=1.5&name=Ann', PAGE, { name: 'Ann' }),
  request('PUT', '/api/documents/room-1/lock', PAGE, { token: 5 }),
  request('GET', '/api/documents/room-1/lock', PAGE),
  request('DELETE', '/api/documents/room-1/lock', PAGE),
  request('POST', '/api/documents/room-1/lock/release', PAGE, '{"token":1}'),
  request('POST', '/api/documents/room-1/lock/takeover', PAGE, { grace_ms: 1000 }),
  request('POST', '/api/documents/room-1/lock/request', PAGE, { message: 'please' }),
  request('GET', '/api/documents/room-1', `${PAGE}\nIf-None-Match: W/"1893499200000", "5"`),
  request('PUT', '/api/documents/room-1', `${PAGE}\nIf-Match: "5"`, {
    token: 5,
    content: { a: [1, 'x'] },
    sequence: 3,
  }),
  request('DELETE', '/api/documents/room-1', `${ADMIN}\nIf-Match: *`),
  request('GET', '/api/documents/locks?prefix=ro&limit=5', ADMIN),
  request('POST', '/api/leases/job%20a', PROGRAM, {
    ...ask,
    metadata: { a: 1 },
    share: 5,
    atLeast: 10,
    lockDelay: 5,
  }),
  request('POST', '/api/leases/job', PROGRAM, { ...ask, wait: true, client: 'c-1', replace: 'any' }),
  request('PUT', '/api/leases/job', PROGRAM, { id: 'a', ttl: 30_000 }),
  request('DELETE', '/api/leases/job', PROGRAM, { id: 'a' }),
  request('POST', '/api/leases?resource=..', PROGRAM, ask),
  request('GET', '/api/leases?resource=job&resource=b&waiting=5', PROGRAM),
  request('GET', '/api/leases?prefix=j&after=a&limit=10', PROGRAM),
  request('POST', '/api/batch', PROGRAM, {
    calls: [
      { method: 'PUT', resource: 'job', body: { id: 'a', ttl: 30_000 } },
      { method: 'DELETE', resource: 'job', body: { token: 5 } },
    ],
  }),
  request('POST', '/api/sweep', PROGRAM, { limit: 5 }),
  request('GET', '/api/locks?limit=5', ADMIN),
  request('GET', '/api/audit?limit=5&before=7&room=room-1', ADMIN),
  request('GET', '/api/stats', ADMIN),
  request('DELETE', '/api/locks/job?token=5', ADMIN),
  request('POST', '/telemetry', PROGRAM, { events: [record] }),
  request('POST', '/broadcasting/auth', PAGE, 'socket_id=1.2&channel_name=private-document.room-1'),
  request('POST', '/broadcasting/auth', `${PAGE}\nContent-Type: application/json`, {
    socket_id: '1.2',
    channel_name: 'presence-document.room-1',
    name: 'Ann',
  }),
  request(
    'POST',
    '/apps/holdfast/events?auth_key=holdfast&auth_timestamp=1893499200&auth_version=1.0&body_md5=x&auth_signature=y',
    '',
    {
      name: 'saved',
      channels: ['a'],
      data: '{}',
    },
  ),
  request('GET', '/apps/holdfast/channels?filter_by_prefix=a&info=user_count', ''),
  request('OPTIONS', '/api/documents/room-1/lock', `${PAGE}\nAccess-Control-Request-Method: PUT`),
  request(
    'GET',
    '/openapi.json',
    'X-Forwarded-For: 1.2.3.4\nForwarded: for="[::1]";proto=https\nX-Request-Id: a',
  ),
  request('GET', '/healthz', 'traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'),
  request('GET', '/readyz', 'Cookie: holdfast=a.b.c; other=1'),
]

/** Every hundredth request is followed by one that must work. */
const CHECK_EVERY = 100
/** Longer than any request waits. */
const MOST_SECONDS = 300
/** For an answer that needs no more time of the server. */
const HANG_MS = 10_000

export const http: Target = {
  corpus: CORPUS,
  async open() {
    const bed = await serviceBed({
      settings: { rate: 1_000_000, burst: 1_000_000, acceptTelemetry: true, trustProxy: 1 },
    })
    const honest = bed.browser('honest')
    let count = 0

    async function answerTo(sent: Request): Promise<Response> {
      let answer: Response | undefined
      const answering = Promise.resolve(bed.server.fetch(sent)).then((response) => {
        answer = response
      })
      // Signatures are computed by other threads, in real time. What waits does so in virtual time.
      await Promise.race([answering, delay(5)])
      for (let second = 0; second < MOST_SECONDS && !answer; second++) {
        await bed.clock.advance(1000)
        await Promise.race([answering, delay(1)])
      }
      await Promise.race([answering, delay(HANG_MS, undefined, { ref: false })])
      if (!answer) throw new Error(`no answer within ${MOST_SECONDS} s`)
      return answer
    }

    async function expectWorking(): Promise<void> {
      const granted = await honest.call('POST', '/api/documents/honest/lock')
      const { token } = granted.body
      const saved = await honest.call('PUT', '/api/documents/honest', { token, content: { count } })
      const read = await honest.call('GET', '/api/documents/honest')
      if (granted.status !== 200 || saved.status !== 200 || Object(read.body.content).count !== count)
        throw new Error(`the server no longer works: ${granted.status} ${saved.status} ${read.status}`)
    }

    return {
      async feed(input) {
        const sent = requestOf(input)
        if (!sent) return 'unsendable'
        const answer = await answerTo(sent)
        const verdict = await judge(answer)
        if (++count % CHECK_EVERY === 0) {
          // What strangers hold expires. The virtual time also runs the sweeps.
          await bed.clock.advance('2m')
          await expectWorking()
        }
        return verdict
      },
      close: () => bed[Symbol.asyncDispose](),
    }
  },
}

function requestOf({ method = '', path = '', headers = '', body = '' }: Input): Request | null {
  try {
    const sent = new Headers({ Host: new URL(ORIGIN).host })
    for (const line of headers.split('\n')) {
      const at = line.indexOf(':')
      if (at > 0) sent.append(line.slice(0, at), line.slice(at + 1))
    }
    const hasBody = body !== '' && method !== 'GET' && method !== 'HEAD'
    return new Request(ORIGIN + path, { method, headers: sent, ...(hasBody && { body }) })
  } catch {
    return null
  }
}

/** A refusal has a code and a message, and is never the server's own fault. */
async function judge(answer: Response): Promise<Verdict> {
  const { status } = answer
  const text = await answer.text()
  if (status >= 500) throw new Error(`the server answers ${status}: ${text}`)
  if (status < 400) return 'accepted'
  const { error, message } = text === '' ? { error: '', message: '' } : JSON.parse(text)
  if (typeof error !== 'string' || typeof message !== 'string')
    throw new Error(`a refusal without a code: ${text}`)
  return 'refused'
}

const clock = new FakeClock(Date.UTC(2030, 0, 1, 12))
const cookieSettings = settingsOf(SECRETS)
const sender = { isSecure: false, prefix: '' }
const ISSUED = await sessionCookies(cookieSettings, clock).read(undefined, sender)
const GOOD = ISSUED.setCookie?.split(';')[0] ?? ''

/** Nobody gets a session by a cookie that was not signed for it. */
export const cookies: Target = {
  corpus: [
    { cookie: GOOD },
    { cookie: `other=1; ${GOOD}` },
    { cookie: `${GOOD}; a="b=c"` },
    { cookie: 'holdfast=a.b.c' },
  ],
  open() {
    const reader = sessionCookies(cookieSettings, clock)
    return {
      async feed({ cookie = '' }) {
        const session = await reader.read(cookie, sender)
        if (session.isNew)
          return session.id === ISSUED.id
            ? Promise.reject(new Error('a new session has an old id'))
            : 'refused'
        if (session.id !== ISSUED.id || !cookie.includes(GOOD.slice(GOOD.indexOf('.') + 1)))
          throw new Error(`a forged cookie counts: ${session.id}`)
        return 'accepted'
      },
    }
  },
}
