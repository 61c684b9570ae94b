import { once } from 'node:events'
import { connect } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type ClientOptions, WebSocket } from 'ws'
import { eventually } from '../eventually.ts'
import { checkProperty } from '../property.ts'
import { KEY } from './fake-socket.ts'
import { openSocketServer, type SocketServer } from './socket-server.ts'

let server: SocketServer
beforeEach(async () => {
  server = await openSocketServer()
})
afterEach(() => server[Symbol.asyncDispose]())

async function reopen(options: Parameters<typeof openSocketServer>[0]): Promise<void> {
  await server[Symbol.asyncDispose]()
  server = await openSocketServer(options)
}

/** Resolves with the first frame of the protocol, or when the socket is closed. */
async function dial(options: ClientOptions = {}, url = server.url) {
  const socket = new WebSocket(url, options)
  const frames: { event: string; data: string }[] = []
  socket.on('message', (text) => frames.push(JSON.parse(String(text))))
  socket.on('error', () => {})
  const closed = new Promise<number>((resolve) => socket.on('close', resolve))
  await Promise.race([once(socket, 'message'), closed])
  return { socket, frames, closed }
}

const repeat = (times: number, run: () => void) => Array.from({ length: times }, run)
const subscribe = (socket: WebSocket, channel: string) =>
  socket.send(JSON.stringify({ event: 'pusher:subscribe', data: { channel } }))

/** The answer to a request, as text. Its later parts are sent one after the other. */
async function ask(request: string, ...later: string[]): Promise<string> {
  const stream = connect(server.port, '127.0.0.1')
  stream.on('error', () => {})
  stream.setNoDelay()
  for (const part of [request, ...later]) {
    stream.write(part)
    await setImmediate()
  }
  let answer = ''
  for await (const chunk of stream) answer += chunk
  return answer
}

const UPGRADE = 'Host: x\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n'
const HANDSHAKE = `${UPGRADE}Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`

describe('an upgrade', () => {
  it.each([
    ['another path', `GET /other HTTP/1.1\r\n${HANDSHAKE}`],
    ['the path alone', `GET /app HTTP/1.1\r\n${HANDSHAKE}`],
    ['no path at all', `GET // HTTP/1.1\r\n${HANDSHAKE}`],
    ['an address with a password', `GET //user:pw@x/app/key?protocol=7 HTTP/1.1\r\n${HANDSHAKE}`],
    [
      'a host with a password',
      `GET /app/key?protocol=7 HTTP/1.1\r\n${HANDSHAKE.replace('Host: x', 'Host: user:pw@x')}`,
    ],
    ['another protocol', `GET /app/key HTTP/1.1\r\n${UPGRADE.replace('websocket', 'h2c')}\r\n`],
  ])('an upgrade to %s is a plain request', async (_, request) => {
    server.http.prependListener('request', (_, response) => response.setHeader('X-From', 'the application'))
    expect(await ask(request)).toContain('X-From: the application')
  })

  it('an upgrade to another protocol keeps its body, whole or in parts, and the next request of its connection', async () => {
    const form = 'socket_id=1.2&channel_name=private-a'
    const head = `POST /auth/mika HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\nContent-Length: ${form.length}\r\n\r\n`
    const last = 'GET /auth/mika HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
    const auth = await server.hub.sign('1.2', 'private-a')
    for (const parts of [[head + form], [head, form], [head + form.slice(0, 9), form.slice(9)]]) {
      const answer = await ask(...(parts as [string]), last)
      expect(answer.match(/HTTP\/1.1 /g)).toHaveLength(2)
      expect(answer).toContain(auth)
    }
  })

  it('an upgrade that is no handshake of a WebSocket is refused in JSON', async () => {
    const answer = await ask(`GET /app/key HTTP/1.1\r\n${UPGRADE}\r\n`)
    expect(answer).toMatch(/^HTTP\/1.1 400 Bad Request\r\nContent-Type: application\/json\r\n/)
    expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toEqual({
      error: 'bad_request',
      message: 'Missing or invalid Sec-WebSocket-Key header',
    })
  })

  it('an upgrade to another path is left to another listener if there is one', async () => {
    server.http.on('upgrade', ({ url }, stream) => {
      if (url === '/other') stream.end("HTTP/1.1 418 I'm a teapot\r\n\r\n")
    })
    expect(await ask(`GET /other HTTP/1.1\r\n${HANDSHAKE}`)).toContain('418')
    expect((await dial()).frames[0]?.event).toBe('pusher:connection_established')
  })

  it.each([
    ['a program without an origin', {}, null],
    ['its own origin', { own: true }, null],
    ['an origin of the list', { origin: 'https://app.example.com' }, null],
    ['a foreign origin', { origin: 'https://evil.example.com' }, 4009],
    ['an opaque origin', { origin: 'null' }, 4009],
    ['an origin that begins like an allowed one', { origin: 'https://app.example.com.evil.com' }, 4009],
  ])(
    'an upgrade from %s is accepted, or ends with a code: %#',
    async (_, { own, origin }: { own?: boolean; origin?: string }, code) => {
      await reopen({ origins: ['https://app.example.com'] })
      const sent = own ? `http://127.0.0.1:${server.port}` : origin
      const { frames, closed, socket } = await dial(sent === undefined ? {} : { origin: sent })
      expect(frames[0]?.event).toBe(code ? 'pusher:error' : 'pusher:connection_established')
      if (code) expect(await closed).toBe(code)
      else socket.close()
    },
  )

  it('an upgrade from a foreign origin gets a message with the origin and what to do, however long it is', async () => {
    const origin = `https://${'x'.repeat(63)}.${'y'.repeat(63)}.example.com`
    const { frames, closed } = await dial({ origin })
    const message = `pages of ${origin} may not connect; add it to the server's origins`
    expect(JSON.parse(frames[0]?.data ?? '')).toEqual({ code: 4009, message })
    expect(await closed).toBe(4009)
  })
})

describe('a socket', () => {
  it.each([
    ['a binary frame', 1003, (socket: WebSocket) => socket.send(Buffer.from('{}'))],
    ['many of them', 1003, (socket: WebSocket) => repeat(50, () => socket.send(Buffer.from('{}')))],
    ['a frame that is too long', 1009, (socket: WebSocket) => socket.send('x'.repeat(16_385))],
    [
      'a text that is not UTF-8',
      1007,
      (socket: WebSocket) => socket.send(Buffer.from([0xff]), { binary: false }),
    ],
  ])('a socket that sends %s is ended with %i', async (_, code, send) => {
    const warned = vi.fn()
    process.on('warning', warned)
    const { socket, closed } = await dial()
    send(socket)
    expect(await closed).toBe(code)
    process.off('warning', warned)
    expect(warned).not.toHaveBeenCalled()
    await eventually(() => expect(server.hub.sockets).toBe(0))
  })

  it.each([1, 125, 126, 65_535, 65_536, 200_000])(
    'a socket gets data of %i characters whole',
    async (length) => {
      const { socket, frames } = await dial()
      subscribe(socket, 'document.1')
      await eventually(() => expect([...server.hub.subscribed()]).toEqual(['document.1']))
      for (const text of ['é'.repeat(length), 'x'.repeat(length)])
        server.hub.broadcast('document.1', 'document.saved', { text })
      await eventually(() => expect(frames).toHaveLength(4))
      const texts = frames.slice(2).map(({ data }) => JSON.parse(data).text)
      expect(texts.map((text) => text.length)).toEqual([length, length])
      expect(texts.map((text) => new Set(text))).toEqual([new Set('é'), new Set('x')])
    },
  )

  it('a socket that does not read is disconnected, and the others still receive', async () => {
    await reopen({ maxBuffered: 100_000 })
    const [slow, quick] = [await dial(), await dial()]
    for (const { socket } of [slow, quick]) subscribe(socket, 'document.1')
    await eventually(() => expect(quick.frames).toHaveLength(2))
    slow.socket.pause()
    let sent = 0
    await eventually(() => {
      for (; sent % 50 !== 49; sent++)
        server.hub.broadcast('document.1', 'document.saved', { text: 'x'.repeat(10_000) })
      sent++
      server.hub.broadcast('document.1', 'document.saved', {})
      expect(server.hub.sockets).toBe(1)
    })
    await eventually(() => expect(quick.frames).toHaveLength(2 + sent))
    slow.socket.terminate()
  })

  it('a socket that sends pings and reads no pongs is disconnected', async () => {
    await reopen({ maxBuffered: 100_000 })
    const stream = connect(server.port, '127.0.0.1')
    stream.on('error', () => {})
    stream.write(`GET /app/${KEY}?protocol=7 HTTP/1.1\r\n${HANDSHAKE}`)
    await once(stream, 'data')
    stream.pause()
    const ping = Buffer.alloc(131)
    ping.set([0x89, 0x80 | 125])
    const pings = Buffer.concat(Array.from({ length: 2000 }, () => ping))
    await eventually(() => {
      if (stream.writableLength === 0) stream.write(pings)
      expect(server.hub.sockets).toBe(0)
    })
    stream.destroy()
  })

  it('a socket is answered with a pong that repeats its ping', async () => {
    const { socket } = await dial()
    const pong = once(socket, 'pong')
    socket.ping('are you there?')
    expect(String((await pong)[0])).toBe('are you there?')
    socket.terminate()
  })

  it('a socket is refused above the limit of one client', async () => {
    await reopen({ limits: { socketsPerClient: 100 } })
    const codes: number[] = []
    const held: WebSocket[] = []
    const lane = async () => {
      while (held.length + codes.length < 1000) {
        const { socket, frames, closed } = await dial()
        if (frames[0]?.event === 'pusher:connection_established') held.push(socket)
        else codes.push(await closed)
      }
    }
    await Promise.all(Array.from({ length: 100 }, lane))
    expect(held).toHaveLength(100)
    expect(new Set(codes)).toEqual(new Set([4004]))
    expect(server.hub.sockets).toBe(100)
    for (const socket of held) socket.terminate()
  })

  it('a socket that does not answer the close is disconnected', async () => {
    const { socket } = await dial()
    socket.pause()
    const started = performance.now()
    await server.hub.close()
    await eventually(() => expect(server.hub.sockets).toBe(0))
    expect(performance.now() - started).toBeGreaterThan(1500)
  })
})

it('whatever bytes arrive, the server still works', async () => {
  await checkProperty(
    fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 5 }), async (chunks) => {
      const stream = connect(server.port, '127.0.0.1')
      stream.on('error', () => {})
      stream.write(`GET ${new URL(server.url).pathname}?protocol=7 HTTP/1.1\r\n${HANDSHAKE}`)
      await once(stream, 'data')
      for (const chunk of chunks) stream.write(chunk)
      stream.end()
      stream.resume()
      await new Promise((resolve) => stream.once('close', resolve))
    }),
    { numRuns: 100 },
  )
  const { frames, socket } = await dial()
  expect(frames[0]?.event).toBe('pusher:connection_established')
  socket.close()
  await eventually(() => expect(server.hub.sockets).toBe(0))
})
