import { expectOptions, expectText } from '../../base/arguments.ts'
import { type RedisClient, type RedisDatabase, redisDatabase } from '../../clients/redis.ts'
import { redisError } from '../../clients/redis-errors.ts'
import type { Bus } from '../bus.ts'
import { createBus } from './create-bus.ts'
import { type Connection, type ConnectionHooks, ListeningConnection } from './listening-connection.ts'
import { REDIS_CHANNEL, type RedisBusOptions } from './options.ts'

/**
 * A bus on pub/sub of Redis, on a single server or a cluster. It uses your client and leaves it open, and listens on
 * a duplicate of it.
 *
 * @example
 * const bus = redisBus(new Redis())
 */
export function redisBus(client: RedisClient, options: RedisBusOptions = {}): Bus & AsyncDisposable {
  const redis = redisDatabase(client)
  expectOptions(options, { channel: 1 })
  const { channel = REDIS_CHANNEL } = options
  expectText('channel', channel)

  return createBus({ name: 'Redis', explain: redisError }, (context) => {
    const listening = new ListeningConnection({
      ...context,
      open: (hooks) => subscribe(redis, channel, hooks),
    })
    return {
      async send(text) {
        await context.calls.run(() => redis.publish(channel, text))
        listening.expectEcho()
      },
      listen: () => listening.open(),
      unlisten: () => listening.closeIfUnneeded(),
    }
  })
}

async function subscribe(
  redis: RedisDatabase,
  channel: string,
  { received, broken }: ConnectionHooks,
): Promise<Connection> {
  const subscriber = await redis.subscriber({ message: (_, text) => received(text), broken })
  try {
    await subscriber.subscribe(channel)
  } catch (error) {
    subscriber.close()
    throw error
  }
  return subscriber
}
