import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import express from 'express'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { expressIdempotency, idempotentFetch } from '../../src/idempotency/index.ts'
import { memoryJobs } from '../../src/once/index.ts'
import { FakeClock } from '../../src/testing/index.ts'
import { eventually } from '../eventually.ts'
import { type Application, BINARY, type Effects, FRAMEWORKS, LARGE } from '../idempotency/frameworks.ts'

describe.each(Object.entries(FRAMEWORKS))('a protected application of %s', (name, start) => {
  let application: Application
  let effects: Effects
  let openGate: () => void
  let started: Promise<void>
  beforeEach(async () => {
    let started_ = () => {}
    started = new Promise((resolve) => {
      started_ = resolve
    })
    const gate = new Promise<void>((resolve) => {
      openGate = resolve
    })
    effects = { runs: {}, gate, started: () => started_() }
    application = await start(memoryJobs(), effects)
  })
  afterEach(async () => {
    openGate()
    await application.close()
  })

  const post = (path: string, body: unknown = { amount: 5 }, headers: Record<string, string> = {}) =>
    fetch(application.url + path, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-user': 'mika',
        'idempotency-key': `"k-${path}"`,
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  const isReplay = ({ headers }: Response) => headers.get('idempotent-replayed') === 'true'

  it('runs a request once and replays status, headers and body, without the cookie', async () => {
    const first = await post('/charges')
    const replay = await post('/charges')
    expect([first.status, isReplay(first), first.headers.get('set-cookie')]).toEqual([
      201,
      false,
      'session=1',
    ])
    expect([replay.status, isReplay(replay), replay.headers.get('set-cookie')]).toEqual([201, true, null])
    expect(replay.headers.get('location')).toBe('/charges/1')
    expect(replay.headers.get('content-type')).toBe(first.headers.get('content-type'))
    const text = await first.text()
    expect(JSON.parse(text)).toEqual({ run: 1, body: { amount: 5 }, key: 'k-/charges' })
    expect(await replay.text()).toBe(text)
    expect(effects.runs).toEqual({ charges: 1 })
  })

  it('replays bytes as they are', async () => {
    for (const isRepeated of [false, true]) {
      const answer = await post('/binary')
      expect(isReplay(answer)).toBe(isRepeated)
      expect(new Uint8Array(await answer.arrayBuffer())).toEqual(BINARY)
    }
  })

  it('replays an answer without a body', async () => {
    for (const isRepeated of [false, true]) {
      const answer = await post('/empty')
      expect([answer.status, isReplay(answer), await answer.text()]).toEqual([204, isRepeated, ''])
    }
    expect(effects.runs).toEqual({ empty: 1 })
  })

  it('refuses what the draft refuses: 400, 401, 409, 413, 422', async () => {
    expect((await post('/charges', {}, { 'idempotency-key': '"a' })).status).toBe(400)
    expect((await post('/charges', {}, { 'x-user': '' })).status).toBe(401)
    expect((await post('/charges', { note: 'x'.repeat(5000) })).status).toBe(413)
    const slow = post('/slow')
    await started
    const busy = await post('/slow')
    expect([busy.status, busy.headers.get('retry-after')]).toEqual([409, '1'])
    const other = await post('/slow', { amount: 6 })
    expect(other.status).toBe(422)
    expect(other.headers.get('content-type')).toContain('application/problem+json')
    expect(await other.json()).toMatchObject({ code: 'idempotency_key_reused' })
    openGate()
    expect(await (await slow).text()).toBe('run 1')
    expect(effects.runs).toEqual({ slow: 1 })
  })

  it('keeps a refusal of the application, and not its failure', async () => {
    for (const isRepeated of [false, true]) {
      const declined = await post('/declined')
      expect([declined.status, isReplay(declined), await declined.json()]).toEqual([
        402,
        isRepeated,
        { run: 1 },
      ])
    }
    expect((await post('/fails')).status).toBe(500)
    expect(await (await post('/fails')).text()).toBe('run 2')
  })

  it('passes large answers and streams on, and refuses their repetition by name', async () => {
    expect(await (await post('/large')).text()).toBe(LARGE)
    const events = await post('/events')
    const reader = events.body?.getReader()
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('data: 1\n\n')
    await reader?.cancel()
    for (const path of ['/large', '/events']) {
      const refused = await post(path)
      expect([refused.status, await refused.json()]).toMatchObject([
        409,
        { code: 'idempotency_answer_not_kept' },
      ])
    }
    expect(effects.runs).toEqual({ large: 1, events: 1 })
  })

  it('has one effect for fifty requests at once', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => post('/charges')))
    for (const answer of answers) expect([201, 409]).toContain(answer.status)
    expect(effects.runs).toEqual({ charges: 1 })
  })

  it('carries out a request of idempotentFetch once, although its answers are lost', async () => {
    let losses = 0
    const losing: typeof fetch = async (input, init) => {
      const answer = await fetch(input, init)
      if (losses++ >= 2) return answer
      throw new TypeError('the connection was lost')
    }
    const send = idempotentFetch({ fetch: losing })
    const headers = { 'content-type': 'application/json', 'x-user': 'mika' }
    const answer = await send(`${application.url}/charges`, { method: 'POST', headers, body: '{"amount":1}' })
    expect([answer.status, isReplay(answer)]).toEqual([201, true])
    expect(effects.runs).toEqual({ charges: 1 })
  })

  if (name === 'fetch and Next') return
  it('lets a GET pass, with and without a key', async () => {
    for (const headers of [{}, { 'idempotency-key': '"k-1"' }] as Record<string, string>[])
      await (await fetch(`${application.url}/charges`, { headers: { 'x-user': 'mika', ...headers } })).text()
    expect(effects.runs).toEqual({ get: 2 })
  })

  if (name === 'Hono') return
  it('refuses a body that no parser has read, with 415', async () => {
    for (const type of ['text/x-other', 'multipart/form-data; boundary=x']) {
      const refused = await post('/charges', '--x--', { 'content-type': type })
      expect(refused.status).toBe(415)
      expect(await refused.json()).toMatchObject({ code: 'idempotency_body_not_read' })
    }
    expect(effects.runs).toEqual({})
  })
})

describe('a middleware of Express', () => {
  async function serve(clock: FakeClock, respond: express.RequestHandler) {
    const app = express()
    app.use(expressIdempotency({ jobs: memoryJobs({ clock }), clock, principal: 'everyone' }))
    app.post('/', respond)
    const server = app.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    return {
      port,
      post: () => fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers: { 'idempotency-key': 'k' } }),
      close: () => new Promise((resolve) => server.close(resolve).closeAllConnections()),
    }
  }
  /** Sends a request and hangs up when the handler has begun. */
  function hangUp(port: number, begun: Promise<unknown>): void {
    const request = httpRequest({
      port,
      host: '127.0.0.1',
      method: 'POST',
      headers: { 'idempotency-key': 'k' },
    })
    request.on('error', () => {})
    request.end()
    begun.then(() => request.destroy())
  }

  it('a middleware of Express keeps the answer of a handler whose client has gone', async () => {
    const clock = new FakeClock()
    const begun = Promise.withResolvers<void>()
    const gone = Promise.withResolvers<void>()
    const served = await serve(clock, async (_, response) => {
      response.once('close', gone.resolve)
      begun.resolve()
      await gone.promise
      response.send('done')
    })
    hangUp(served.port, begun.promise)
    await gone.promise
    await eventually(async () => {
      const answer = await served.post()
      expect([answer.status, await answer.text()]).toEqual([200, 'done'])
    })
    await served.close()
  })

  it('a middleware of Express frees the key of a handler that never answers a client that has gone, after the TTL', async () => {
    const clock = new FakeClock()
    const begun = Promise.withResolvers<void>()
    const gone = Promise.withResolvers<void>()
    let runs = 0
    const served = await serve(clock, (_, response) => {
      if (++runs > 1) return void response.send('second')
      response.once('close', gone.resolve)
      begun.resolve()
    })
    hangUp(served.port, begun.promise)
    await gone.promise
    expect((await served.post()).status).toBe(409)
    await eventually(async () => {
      await clock.advance('20s')
      expect(await (await served.post()).text()).toBe('second')
    })
    await served.close()
  })
})
