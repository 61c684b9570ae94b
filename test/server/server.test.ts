import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer, type IncomingMessage, request, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { getRequestListener, serve } from '@hono/node-server'
import { Hono } from 'hono'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WebSocket as ClientSocket } from 'ws'
import { createLockServer } from '../../src/server/index.ts'
import {
  attachSockets,
  createServer,
  type HoldfastServer,
  openSqlite,
  type ServerOptions,
  sqliteAudit,
  sqliteDocuments,
} from '../../src/server/node/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { eventually } from '../eventually.ts'
import { browserAt, joinRoom } from './node-client.ts'
import { ADMIN_TOKEN, SECRETS } from './service-bed.ts'

const LOCK = '/api/documents/room-1/lock'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-server-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

describe('a server on SQLite', () => {
  it('a server on SQLite loses no lock, content or audit entry in a restart', async () => {
    const user = { cookie: '' as string | undefined, token: 0 }
    {
      await using first = await start()
      const browser = browserAt(first.url)
      user.token = (await browser.call('POST', LOCK)).body.token
      await browser.call('PUT', '/api/documents/room-1', { content: 'kept', token: user.token })
      user.cookie = browser.cookie
    }
    await using second = await start()
    const browser = browserAt(second.url)
    browser.cookie = user.cookie
    expect((await browser.call('PUT', LOCK)).body.token).toBe(user.token)
    expect((await browser.call('GET', '/api/documents/room-1')).body.content).toBe('kept')
    expect((await browserAt(second.url).call('POST', LOCK)).status).toBe(409)
    const headers = { Authorization: `Bearer ${ADMIN_TOKEN}` }
    const { entries } = (await browser.call('GET', '/api/audit', undefined, { headers })).body
    expect(entries.map(({ action }) => action)).toEqual(['lock'])
  })

  it.each(['.', '..', '%2e', '%2E.'])(
    'refuses the document %s, which is another one in a path',
    async (name) => {
      await using server = await start()
      const sent = request({ port: server.port, path: `/api/documents/room/${name}/lock` }).end()
      const [response] = (await once(sent, 'response')) as [IncomingMessage]
      response.resume()
      // The path of `..` leads to `/api/documents/lock`, that of `.` to the document `room`.
      expect(response.statusCode).toBe(400)
      const inQuery = request({ port: server.port, path: `/api/documents/room?path=/a/${name}/b` }).end()
      const [other] = (await once(inQuery, 'response')) as [IncomingMessage]
      other.resume()
      expect(other.statusCode).toBe(200)
    },
  )

  it('a server on SQLite stores missing secrets in a file that only its owner may read', async () => {
    const secretsFile = join(directory, 'secrets.json')
    const settings = { secretsFile, cookieSecrets: [], channelSecret: '' }
    const lines: string[] = []
    const log = (_: string, message: string) => lines.push(message)
    let cookie: string | undefined
    {
      await using first = await start({ settings, log })
      const browser = browserAt(first.url)
      await browser.call('POST', LOCK)
      cookie = browser.cookie
    }
    await using second = await start({ settings, log })
    const browser = browserAt(second.url)
    browser.cookie = cookie
    expect((await browser.call('PUT', LOCK)).status).toBe(200)
    expect(statSync(secretsFile).mode & 0o777).toBe(0o600)
    expect(lines).not.toContainEqual(expect.stringContaining('secrets were created'))
    writeFileSync(secretsFile, '{"cookieSecrets":["hush')
    await expect(start({ settings })).rejects.toThrow(
      /^secretsFile: expected the secrets of a server in \S+$/,
    )
  })

  it('a server on SQLite has figures for Prometheus', async () => {
    await using server = await start()
    const socket = await joinRoom(server.url, 'room-1')
    await browserAt(server.url).call('POST', LOCK)
    const { body, headers } = await browserAt(server.url).call('GET', '/metrics')
    expect(headers.get('content-type')).toContain('text/plain')
    for (const line of [
      'holdfast_http_requests_total{route="/api/documents/{roomId}/lock",method="POST",status="200"} 1',
      'holdfast_http_request_seconds_count{route="/api/documents/{roomId}/lock",method="POST"} 1',
      'holdfast_cluster_live_locks 1',
      'holdfast_waiters 0',
      'holdfast_sockets 1',
      'holdfast_store_in_flight 0',
      'holdfast_store_queued 0',
      'holdfast_store_call_seconds_count{operation="acquire"} 1',
      'holdfast_grants_total 1',
      'holdfast_expiries_total 0',
      'holdfast_takeovers_total 0',
    ])
      expect(body).toContain(line)
    socket.close()
  })

  it('logs its start, each request once, and its end, without secrets and names of rooms', async () => {
    const lines: object[] = []
    {
      await using server = await start({
        log: (level, message, fields) => lines.push({ level, message, ...fields }),
      })
      const browser = browserAt(server.url)
      await browser.call('POST', `${LOCK}?wait=0`, undefined, { headers: { 'X-Request-Id': 'r-1' } })
      expect(lines.splice(0)).toEqual([
        { level: 'info', message: 'started', store: 'sqlite' },
        { level: 'info', message: 'listening', url: server.url },
        {
          level: 'info',
          message: 'request',
          request_id: 'r-1',
          method: 'POST',
          route: '/api/documents/{roomId}/lock',
          status: 200,
          client: '127.0.0.1',
          user: expect.stringMatching(/^[\w-]{16}$/),
          ms: expect.any(Number),
        },
      ])
    }
    expect(lines).toEqual([
      { level: 'info', message: 'stopping', sockets: 0, waiters: 0 },
      { level: 'info', message: 'stopped' },
    ])
  })

  it('a server on SQLite serves pages beside the API', async () => {
    const assets = join(directory, 'web')
    mkdirSync(join(assets, 'assets'), { recursive: true })
    writeFileSync(join(assets, 'index.html'), '<h1>editor</h1>')
    writeFileSync(join(assets, 'dashboard.html'), '<h1>dashboard</h1>')
    writeFileSync(join(assets, 'assets', 'main-a1b2c3d4.js'), 'export {}')
    await using server = await start({ assets })
    const page = await fetch(`${server.url}/`)
    expect(await page.text()).toBe('<h1>editor</h1>')
    expect(page.headers.get('content-security-policy')).toContain("default-src 'self'")
    expect(await (await fetch(`${server.url}/dashboard`)).text()).toBe('<h1>dashboard</h1>')
    const script = await fetch(`${server.url}/assets/main-a1b2c3d4.js`)
    expect(script.headers.get('content-type')).toContain('javascript')
    expect(script.headers.get('cache-control')).toContain('immutable')
    await script.text()
    expect((await browserAt(server.url).call('POST', LOCK)).status).toBe(200)
    expect((await browserAt(server.url).call('GET', '/nothing')).body.error).toBe('not_found')
    expect((await browserAt(server.url).call('GET', '/..%2f..%2fetc%2fpasswd')).status).toBe(404)
  })

  it('a server on SQLite serves a file that exists only compressed, also to a browser that does not know Brotli', async () => {
    const assets = join(directory, 'packed')
    mkdirSync(join(assets, 'assets'), { recursive: true })
    const text = 'export {}'
    writeFileSync(join(assets, 'assets', 'main-a1b2c3d4.js.br'), brotliCompressSync(text))
    await using server = await start({ assets })
    const url = `${server.url}/assets/main-a1b2c3d4.js`
    const tags = new Set<string | null>()
    for (const [accepted, encoding] of [
      ['gzip, deflate, br', 'br'],
      ['br;q=0.5', 'br'],
      ['gzip', 'gzip'],
      ['br;q=0', null],
    ] as const) {
      const found = await fetch(url, { headers: { 'accept-encoding': accepted } })
      expect([accepted, found.headers.get('content-encoding')]).toEqual([accepted, encoding])
      expect(found.headers.get('vary')).toContain('Accept-Encoding')
      expect(found.headers.get('content-type')).toContain('javascript')
      expect(found.headers.get('cache-control')).toContain('immutable')
      expect(await found.text()).toBe(text)
      tags.add(found.headers.get('etag'))
    }
    expect(tags.size).toBe(3)
    const [tag = ''] = tags
    const again = await fetch(url, { headers: { 'accept-encoding': 'br', 'if-none-match': tag ?? '' } })
    expect([again.status, await again.text()]).toEqual([304, ''])
    expect((await fetch(`${server.url}/assets/..%2fassets/main-a1b2c3d4.js`)).status).toBe(404)
  })

  it('a server on SQLite serves pages compressed as the browser accepts it, and only once while they do not change', async () => {
    const assets = join(directory, 'compressed')
    mkdirSync(join(assets, 'assets'), { recursive: true })
    const text = 'export {}'
    const path = join(assets, 'assets', 'main-a1b2c3d4.js')
    writeFileSync(path, text)
    writeFileSync(`${path}.br`, brotliCompressSync(text))
    writeFileSync(`${path}.gz`, gzipSync(text))
    writeFileSync(join(assets, 'index.html'), '<h1>editor</h1>')
    await using server = await start({ assets })
    const get = (file: string, headers: Record<string, string>) => fetch(`${server.url}/${file}`, { headers })
    const tags = new Set<string | null>()
    for (const [accepted, encoding] of [
      ['gzip, deflate, br', 'br'],
      ['gzip', 'gzip'],
      ['identity', null],
      ['br;q=0', null],
    ] as const) {
      const found = await get('assets/main-a1b2c3d4.js', { 'accept-encoding': accepted })
      expect([accepted, found.headers.get('content-encoding')]).toEqual([accepted, encoding])
      expect(found.headers.get('vary')).toContain('Accept-Encoding')
      expect(found.headers.get('content-type')).toContain('javascript')
      expect(found.headers.get('cache-control')).toContain('immutable')
      expect(await found.text()).toBe(text)
      tags.add(found.headers.get('etag'))
    }
    expect(tags.size).toBe(3)
    // It has no compressed form.
    const page = await get('', { 'accept-encoding': 'br' })
    expect(page.headers.get('content-encoding')).toBeNull()
    expect(await page.text()).toBe('<h1>editor</h1>')
    const tag = page.headers.get('etag') ?? ''
    for (const known of [tag, `"other", W/${tag}`]) {
      const again = await get('', { 'if-none-match': known })
      expect([again.status, await again.text()]).toEqual([304, ''])
      expect(again.headers.get('etag')).toBe(tag)
    }
    expect((await get('', { 'if-none-match': '"other"' })).status).toBe(200)
  })
})

describe('a start', () => {
  it('a start on a port that is in use fails with the port and what to do', async () => {
    await using first = await start()
    const second = createServer({ store: memoryStore(), log: () => {}, settings: { port: first.port } })
    await expect(second).rejects.toMatchObject({
      code: 'invalid-argument',
      message: `port: ${first.port} of 127.0.0.1 is in use; stop the program that listens there, or choose another port (0 is any)`,
      cause: { code: 'EADDRINUSE' },
    })
  })

  it('a start on an address of another machine fails with the address', async () => {
    const settings = { port: 0, host: '192.0.2.1' }
    await expect(createServer({ store: memoryStore(), log: () => {}, settings })).rejects.toMatchObject({
      code: 'invalid-argument',
      message: expect.stringMatching(/^host and port: cannot listen on port 0 of 192\.0\.2\.1: /),
    })
  })

  it('a start with a secrets file that cannot be created fails with its path', async () => {
    const settings = { port: 0, secretsFile: join(directory, 'missing', 'secrets.json') }
    await expect(createServer({ store: memoryStore(), log: () => {}, settings })).rejects.toMatchObject({
      code: 'invalid-argument',
      message: expect.stringMatching(/^secretsFile: \S+secrets\.json cannot be created: /),
    })
  })

  it.each(['nowhere', 'a file'])('a start with assets %s is refused', async (place) => {
    const assets = join(directory, place)
    if (place === 'a file') writeFileSync(assets, '')
    await expect(createServer({ store: memoryStore(), assets, settings: { port: 0 } })).rejects.toMatchObject(
      {
        code: 'invalid-argument',
        message: `assets: expected the path of a directory, got ${JSON.stringify(assets)}`,
      },
    )
  })
})

describe('close', () => {
  it('close ends waiting requests, tells sockets, and accepts no new requests', async () => {
    await using server = await start()
    await browserAt(server.url, 'a').call('POST', LOCK)
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/app/holdfast?protocol=7`)
    const closed = once(socket, 'close')
    await once(socket, 'open')
    const waiting = browserAt(server.url, 'b').call('POST', `${LOCK}?wait=30`)
    const looking = browserAt(server.url, 'c')
    await eventually(async () =>
      expect((await looking.call('GET', LOCK)).body).toMatchObject({ waiting: [{}] }),
    )
    await server.close()
    expect((await waiting).body.error).toBe('stopping')
    expect((await closed)[0]).toMatchObject({ code: 4100 })
    await expect(fetch(`${server.url}/healthz`)).rejects.toThrow()
    await server.close()
  })

  it('close does not wait for ever for a client that does not finish', async () => {
    await using server = await start({ settings: { stopWithin: 200 } })
    const socket = connect(server.port, '127.0.0.1')
    const gone = new Promise((resolve) => socket.once('close', resolve))
    socket.on('error', () => {})
    socket.write(
      'PUT /api/documents/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\nExpect: 100-continue\r\n\r\n{',
    )
    expect(String((await once(socket, 'data'))[0])).toContain('100 Continue')
    await server.close()
    await gone
  })

  it('close of a connection ends its waiting request, and leaves its place', async () => {
    const statuses: unknown[] = []
    await using server = await start({ log: (_, __, fields) => statuses.push(Object(fields).status) })
    const holder = browserAt(server.url, 'a')
    await holder.call('POST', LOCK)
    const gone = new AbortController()
    const waiting = browserAt(server.url, 'b').call('POST', `${LOCK}?wait=30`, undefined, {
      signal: gone.signal,
    })
    const waiters = (count: number) =>
      eventually(async () => {
        const { waiting } = Object((await holder.call('GET', LOCK)).body)
        expect(waiting).toHaveLength(count)
      })
    await waiters(1)
    gone.abort()
    await expect(waiting).rejects.toThrow()
    await waiters(0)
    await eventually(() => expect(statuses).toContain(499))
  })
})

describe('the name in the Host header', () => {
  const requestAs = async (server: HoldfastServer, host: string, path: string, method = 'GET') => {
    const sent = request({ port: server.port, host: '127.0.0.1', method, path, headers: { host } }).end()
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    response.resume()
    return response.statusCode
  }

  it.each([
    ['localhost', 200],
    ['LOCALHOST:80', 200],
    ['app.localhost', 200],
    ['127.0.0.1', 200],
    ['[::1]:4321', 200],
    ['app.example.com:8080', 200],
    ['evil.test', 421],
    ['localhost.evil.test', 421],
    ['127.0.0.1.evil.test', 421],
    ['app.example.com.evil.test', 421],
  ])('%s gets %i from a server on a loopback address', async (host, status) => {
    await using server = await start({ settings: { hosts: ['app.example.com'] } })
    for (const path of ['/api/documents/a/lock', '/healthz'])
      expect(await requestAs(server, host, path)).toBe(status)
    if (status === 200) return
    expect(await requestAs(server, host, '/', 'GET')).toBe(421)
    expect(await requestAs(server, host, '/api/documents/a/lock', 'OPTIONS')).toBe(421)
    const socket = new ClientSocket(`${server.url.replace('http', 'ws')}/app/holdfast?protocol=7`, {
      headers: { host },
    })
    const [error] = await once(socket, 'error')
    expect(String(error)).toContain('421')
  })

  it('an option that is undefined counts as absent: the Host header is checked, and there are metrics', async () => {
    const absent = {
      meter: undefined,
      listensOn: undefined,
      bus: undefined,
      tracing: undefined,
      clock: undefined,
    }
    await using server = await start(absent)
    expect(await requestAs(server, 'evil.test', '/healthz')).toBe(421)
    const metrics = await fetch(`${server.url}/metrics`)
    expect([metrics.status, (await metrics.text()).includes('holdfast_')]).toEqual([200, true])
    await expect(createServer({ store: memoryStore(), settings: null } as never)).rejects.toMatchObject({
      code: 'invalid-argument',
      message: 'settings: expected an object, got null',
    })
  })

  it('the name in the Host header may be any on another address, until hosts is set', async () => {
    await using open = await start({ settings: { host: '0.0.0.0' } })
    expect(await requestAs(open, 'any.test', '/healthz')).toBe(200)
    await using closed = await start({ settings: { host: '0.0.0.0', hosts: 'app.example.com' } })
    expect(await requestAs(closed, 'any.test', '/healthz')).toBe(421)
    expect(await requestAs(closed, 'app.example.com', '/healthz')).toBe(200)
  })
})

/** What the server sends until the connection ends. */
async function sendRaw(server: HoldfastServer, text: string): Promise<string> {
  const socket = connect(server.port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(text, 'latin1')
  let answer = ''
  for await (const chunk of socket) answer += chunk
  return answer
}

describe('a request that is not valid HTTP', () => {
  const GET = 'GET /api/documents/a/lock HTTP/1.1\r\n'
  const END = 'Connection: close\r\n\r\n'

  it.each([
    ['no HTTP', 'nonsense\r\n\r\n', 400, 'bad_request'],
    ['no Host', `${GET}${END}`, 400, 'bad_request'],
    ['two Hosts', `${GET}Host: localhost\r\nHost: evil.test\r\n${END}`, 400, 'bad_request'],
    ['a malformed Host', `${GET}Host: a b\r\n${END}`, 400, 'bad_request'],
    ['a Host with a user', `${GET}Host: user@localhost\r\n${END}`, 400, 'bad_request'],
    ['a path with a backslash', `GET /api\\a HTTP/1.1\r\nHost: localhost\r\n${END}`, 400, 'bad_request'],
    [
      'two lengths',
      `PUT /api/documents/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n${END}{}`,
      400,
      'bad_request',
    ],
    [
      'a socket at an address with a password',
      `GET //user:pw@localhost/app/holdfast HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade, close\r\n\r\n`,
      404,
      'not_found',
    ],
    [
      'another expectation',
      `${GET}Host: localhost\r\nExpect: a-miracle\r\n${END}`,
      417,
      'expectation_failed',
    ],
    [
      'headers that are too long',
      `${GET}Host: localhost\r\nX-Long: ${'x'.repeat(20_000)}\r\n${END}`,
      431,
      'headers_too_large',
    ],
  ])('a request that is not valid HTTP is refused in JSON: %s', async (_, text, status, error) => {
    await using server = await start({ assets: directory })
    const answer = await sendRaw(server, text)
    const [head = '', body = ''] = answer.split('\r\n\r\n')
    expect(head).toContain(`HTTP/1.1 ${status} `)
    expect(head.toLowerCase()).toContain('content-type: application/json')
    expect(JSON.parse(body)).toMatchObject({ error, message: expect.any(String) })
  })

  it('a request that is not valid HTTP is answered if it is HTTP/1.0, which needs no Host', async () => {
    await using server = await start()
    expect(await sendRaw(server, 'GET /readyz HTTP/1.0\r\n\r\n')).toContain('{"status":"ready"}')
  })

  it('a request that is not valid HTTP that arrives too slowly is ended', async () => {
    await using server = await start({ settings: { receiveWithin: '1s' } })
    const answer = await sendRaw(
      server,
      'PUT /api/documents/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{',
    )
    expect(answer).toMatch(/^HTTP\/1.1 408 Request Timeout\r\nContent-Type: application\/json\r\n/)
    expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toMatchObject({ error: 'request_timeout' })
  })
})

describe('the sockets of one client are limited', () => {
  it.each([
    ['by connection, whatever X-Forwarded-For says', false, ['1.1.1.1', '2.2.2.2'], [null, 4004]],
    [
      'with trustProxy, by the last address in X-Forwarded-For',
      true,
      ['1.1.1.1', '2.2.2.2', '7.7.7.7, 1.1.1.1'],
      [null, null, 4004],
    ],
    ['by connection, if X-Forwarded-For is empty', true, ['', '1.1.1.1', ' '], [null, null, 4004]],
  ])('%s', async (_, trustProxy, forwarded, codes) => {
    await using server = await start({ settings: { maxSockets: 1, trustProxy } })
    const found: (number | null)[] = []
    for (const hops of forwarded) {
      const url = `${server.url.replace('http', 'ws')}/app/holdfast?protocol=7`
      const socket = new ClientSocket(url, { headers: { 'X-Forwarded-For': hops } })
      const closed = new Promise<number>((resolve) => socket.once('close', resolve))
      const [text] = await once(socket, 'message')
      const { event } = JSON.parse(String(text))
      found.push(event === 'pusher:connection_established' ? null : await closed)
    }
    expect(found).toEqual(codes)
  })
})

describe('embedded', () => {
  it('embedded in a plain node:http server', async () => {
    const origin = 'https://app.example.com'
    const settings = { ...SECRETS, origins: [origin] }
    const locks = await createLockServer({ store: memoryStore(), settings, log: () => {} })
    const listener = getRequestListener(locks.fetch)
    const server = createHttpServer((request, response) => {
      if (request.url === '/hello') response.end('hello')
      else void listener(request, response)
    })
    const sockets = attachSockets(server, locks.channels)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = urlOf(server)
    expect(await (await fetch(`${url}/hello`)).text()).toBe('hello')
    const socket = await joinRoom(url, 'room-1')
    expect((await browserAt(url).call('POST', LOCK)).status).toBe(200)
    await eventually(() => expect(socket.heard).toEqual(['document.locked']))
    const page = new ClientSocket(`${url.replace('http', 'ws')}/app/holdfast?protocol=7`, { origin })
    const [greeting] = await once(page, 'message')
    expect(String(greeting)).toContain('pusher:connection_established')
    await locks.close()
    await sockets.close()
    await close(server)
  })

  it('embedded in another Hono app, at the root or under a path, with users of its own', async () => {
    const locks = await createLockServer({
      store: memoryStore(),
      settings: SECRETS,
      log: () => {},
      identify: (request) => {
        const user = request.headers.get('x-user')
        return user === null ? null : { id: user, name: user }
      },
      authorize: (identity, action) => action !== 'takeover' && identity.name !== 'banned',
    })
    const app = new Hono().get('/hello', (context) => context.text('hello'))
    app.route('/', locks.app)
    app.route('/locks', locks.app)
    const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server
    await once(server, 'listening')
    const url = urlOf(server)
    const as = (user: string) => ({ headers: { 'X-User': user } })
    const browser = browserAt(url)
    expect(await (await fetch(`${url}/hello`)).text()).toBe('hello')
    expect((await browser.call('POST', LOCK)).body.error).toBe('unauthenticated')
    expect((await browser.call('POST', LOCK, undefined, as('mika'))).status).toBe(200)
    expect((await browser.call('GET', `/locks${LOCK}`, undefined, as('ren'))).body).toMatchObject({
      holder: { name: 'mika', is_you: false },
    })
    expect((await browser.call('POST', `${LOCK}/takeover`, undefined, as('ren'))).status).toBe(403)
    expect((await browser.call('GET', LOCK, undefined, as('banned'))).status).toBe(403)
    await locks.close()
    await close(server)
  })
})

async function start(options: Partial<ServerOptions> = {}) {
  const path = join(directory, 'holdfast.db')
  const database = openSqlite(path)
  const store = sqliteStore(path)
  const server = await createServer({
    store,
    documents: sqliteDocuments(database),
    audit: sqliteAudit(database),
    log: () => {},
    ...options,
    settings: { ...SECRETS, port: 0, ttl: '1h', ...options.settings },
  })
  return {
    ...server,
    async [Symbol.asyncDispose]() {
      await server.close()
      await store.close()
      database.close()
    },
  }
}

function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
}
