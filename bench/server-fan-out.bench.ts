/** One event to many sockets, from the call to the last receipt, beside a bare loop over `ws`. Opens 10 000 files. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'
import { memoryBus } from '../src/server/buses/memory.ts'
import { createChannels } from '../src/server/channels/index.ts'
import { attachSockets } from '../src/server/node/sockets.ts'
import { printTable, quantile } from './measure.ts'

const SOCKETS = 5000
const ROUNDS = 100
const CHANNEL = 'document.1'
const EVENT = 'document.locked'
const DATA = {
  ...{ room_id: '1', session_id: crypto.randomUUID(), token: 1_893_456_000_000_000 },
  ...{ locked_at: '2030-01-01T00:00:00.000Z', expires_at: '2030-01-01T00:00:30.000Z', expires_in_ms: 30_000 },
}

interface Broadcaster {
  readonly name: string
  readonly port: number
  broadcast(): void
  close(): Promise<void>
}

export async function run(): Promise<void> {
  const broadcasters = [await bareLoop(), await channels()]
  const audiences = await Promise.all(broadcasters.map(({ port }) => gather(port)))
  const times = broadcasters.map(() => [] as number[])
  for (let round = -3; round < ROUNDS; round++)
    for (const [index, { broadcast }] of broadcasters.entries()) {
      const heard = audiences[index]?.everybodyHears()
      const start = performance.now()
      broadcast()
      await heard
      // The first rounds warm up.
      if (round >= 0) times[index]?.push(performance.now() - start)
    }
  for (const audience of audiences) await audience.leave()
  for (const { close } of broadcasters) await close()
  const [bare = []] = times
  printTable(`One event to ${SOCKETS} sockets, ms until the last has it`, [
    ['', 'p50', 'p99', 'p99 × bare'],
    ...broadcasters.map(({ name }, index) => {
      const own = times[index] ?? []
      const ratio = quantile(own, 0.99) / quantile(bare, 0.99)
      return [name, quantile(own, 0.5).toFixed(1), quantile(own, 0.99).toFixed(1), ratio.toFixed(2)]
    }),
  ])
}

async function bareLoop(): Promise<Broadcaster> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false })
  await once(server, 'listening')
  const text = JSON.stringify({ event: EVENT, channel: CHANNEL, data: JSON.stringify(DATA) })
  server.on('connection', (socket) => socket.on('message', () => socket.send('{}')))
  return {
    name: 'a bare loop over ws',
    port: (server.address() as AddressInfo).port,
    broadcast() {
      for (const socket of server.clients) socket.send(text)
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

async function channels(): Promise<Broadcaster> {
  const server = createServer()
  const limits = { socketsPerClient: SOCKETS }
  const hub = createChannels({ key: 'bench', secret: 'bench', bus: memoryBus(), limits })
  const sockets = attachSockets(server, hub)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    name: 'channels.broadcast',
    port: (server.address() as AddressInfo).port,
    broadcast: () => hub.broadcast(CHANNEL, EVENT, DATA),
    async close() {
      await hub.close()
      await sockets[Symbol.asyncDispose]()
      server.close()
    },
  }
}

/** The listeners, in a process of their own. */
async function gather(port: number) {
  const audience = fork(new URL('./server-fan-out/audience.ts', import.meta.url), [
    String(port),
    String(SOCKETS),
    CHANNEL,
  ])
  await once(audience, 'message')
  return {
    everybodyHears: () => once(audience, 'message'),
    async leave() {
      audience.disconnect()
      await once(audience, 'exit')
    },
  }
}
