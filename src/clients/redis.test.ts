import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { describe, expect, it } from 'vitest'
import { type RedisDatabase, redisDatabase } from './redis.ts'

const CLOSED = { ioredis: 'Connection is closed.', redis: 'The client is closed' }
const fail = (message: string) => () => Promise.reject(new Error(message))

/** A cluster client whose connection to a node has ended. */
const CLUSTERS: [string, string, (isClosed: boolean) => RedisDatabase][] = [
  [
    'ioredis',
    CLOSED.ioredis,
    (isClosed) =>
      redisDatabase({
        status: isClosed ? 'end' : 'ready',
        evalsha: fail(CLOSED.ioredis),
        eval: fail(CLOSED.ioredis),
        nodes: () => [{ publish: fail(CLOSED.ioredis) }],
      }),
  ],
  [
    'redis',
    CLOSED.redis,
    (isClosed) =>
      redisDatabase({
        isOpen: !isClosed,
        evalSha: fail(CLOSED.redis),
        eval: fail(CLOSED.redis),
        getRandomNode: () => ({}),
        nodeClient: async () => ({ publish: fail(CLOSED.redis) }),
      }),
  ],
]

describe.each(CLUSTERS)('a cluster of %s', (_, message, open) => {
  it('is still retryable when a node has closed its connection', async () => {
    const database = open(false)
    for (const call of [
      database.evalSha('sha', [], []),
      database.eval('script', [], []),
      database.publish('channel', 'text'),
    ])
      await expect(call).rejects.toMatchObject({ code: 'store-unavailable', cause: { message } })
  })

  it('passes on the error when it was closed itself', async () => {
    await expect(open(true).evalSha('sha', [], [])).rejects.toThrow(message)
  })
})

describe('a connection that is being opened to a server that does not answer', () => {
  const clients = {
    ioredis: (port: number) => {
      const client = new Redis(port, '127.0.0.1', { lazyConnect: true })
      return { client, end: () => client.disconnect() }
    },
    redis: (port: number) => {
      const client = createClient({ socket: { host: '127.0.0.1', port } })
      return { client, end: () => {} }
    },
  }

  it.each(Object.entries(clients))(
    'a connection that is being opened to a server that does not answer ends when it is given up, with %s',
    async (_, open) => {
      const server = createServer().listen(0, '127.0.0.1')
      await once(server, 'listening')
      const { client, end } = open((server.address() as AddressInfo).port)
      const stop = new AbortController()
      const hooks = { message() {}, broken() {}, stop: stop.signal }
      const refused = expect(redisDatabase(client).subscriber(hooks)).rejects.toThrow()
      const [socket] = (await once(server, 'connection')) as [Socket]
      // Until it is read, its end is not reported.
      socket.resume()
      const closed = once(socket, 'close')
      stop.abort()
      await Promise.all([refused, closed])
      end()
      server.close()
    },
  )
})
