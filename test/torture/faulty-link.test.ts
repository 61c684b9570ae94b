import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { eventually } from '../eventually.ts'
import { FaultyLink } from './faulty-link.ts'

/** Answers every line with the same line in capitals. */
let server: Server
let link: FaultyLink
let client: Socket
let answers = ''
let heard = ''
beforeEach(async () => {
  answers = ''
  heard = ''
  server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      heard += bytes
      socket.write(String(bytes).toUpperCase())
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  link = await FaultyLink.open((server.address() as AddressInfo).port)
  client = await connected()
})
afterEach(async () => {
  client.destroy()
  await link[Symbol.asyncDispose]()
  server.close()
})

async function connected(): Promise<Socket> {
  const socket = connect({ host: link.host, port: link.port })
  socket.on('error', () => {})
  socket.on('data', (bytes) => {
    answers += bytes
  })
  await once(socket, 'connect')
  return socket
}

it('a link without trouble passes everything on', async () => {
  client.write('hello')
  await eventually(() => expect(answers).toBe('HELLO'))
})

it('a blackhole holds bytes back, and delivers all of them in order when it ends', async () => {
  client.write('a')
  await eventually(() => expect(answers).toBe('A'))
  link.trouble({ toServer: { holds: true } })
  client.write('b')
  client.write('c')
  // An answer on a link beside it shows that time enough has passed.
  await using beside = await FaultyLink.open(link.target)
  const other = connect({ host: beside.host, port: beside.port })
  other.write('x')
  await once(other, 'data')
  other.destroy()
  expect(heard.replace('x', '')).toBe('a')
  link.heal()
  await eventually(() => expect(answers).toBe('ABC'))
})

it('one way: the server hears the request, and the client gets no answer until it ends', async () => {
  link.trouble({ toClient: { holds: true } })
  client.write('a')
  await eventually(() => expect(heard).toBe('a'))
  expect(answers).toBe('')
  link.heal()
  await eventually(() => expect(answers).toBe('A'))
})

it('a delay keeps the order, also when it ends', async () => {
  link.trouble({ toServer: { delayMs: 60_000 } })
  client.write('a')
  link.trouble({ toServer: { delayMs: 1 } })
  client.write('b')
  await eventually(() => expect(heard).toBe('ab'))
})

it('bytes that drip arrive one by one', async () => {
  const pieces: number[] = []
  client.on('data', (bytes) => pieces.push(bytes.length))
  link.trouble({ toClient: { drips: true } })
  client.write('a long line')
  await eventually(() => expect(answers).toBe('A LONG LINE'))
  expect(pieces.length).toBeGreaterThan(1)
})

it('a reset ends open connections with ECONNRESET, and new ones work', async () => {
  const failed = new Promise((resolve) => client.on('error', resolve))
  client.write('a')
  await eventually(() => expect(answers).toBe('A'))
  link.reset()
  expect(await failed).toMatchObject({ code: 'ECONNRESET' })
  const next = await connected()
  next.write('b')
  await eventually(() => expect(answers).toBe('AB'))
  next.destroy()
})

it('a link that refuses resets new connections until it heals', async () => {
  link.refuse()
  const refused = connect({ host: link.host, port: link.port })
  const error = await new Promise((resolve) => refused.on('error', resolve))
  expect(error).toMatchObject({ code: 'ECONNRESET' })
  link.heal()
  client = await connected()
  client.write('a')
  await eventually(() => expect(answers).toBe('A'))
})

it('after a change of the target, new connections go to the other server', async () => {
  const other = createServer((socket) => socket.end('other'))
  other.listen(0, '127.0.0.1')
  await once(other, 'listening')
  link.target = (other.address() as AddressInfo).port
  const next = await connected()
  await eventually(() => expect(answers).toBe('other'))
  next.destroy()
  other.close()
})
