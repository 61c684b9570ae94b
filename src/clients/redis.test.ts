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
