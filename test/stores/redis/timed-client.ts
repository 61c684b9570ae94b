import { Redis } from 'ioredis'
import type { Clock } from '../../../src/core/index.ts'
import type { IoRedis } from '../../../src/stores/redis/index.ts'

/**
 * The lines of the script that depend on time, and their replacements in a test. `published`: the key of a list that
 * gets the messages instead of the channels.
 */
const replacements = (published?: string) => [
  [
    `local time = call('TIME')`,
    `local time = { ARGV[#ARGV - 1], ARGV[#ARGV] } ARGV[#ARGV] = nil ARGV[#ARGV] = nil`,
  ],
  // The server expires keys by its own clock, which is not that of the test.
  [
    `= redis.call,`,
    `= function(name, ...)
       if name == 'PEXPIREAT' then return end
       ${published ? `if name == 'PUBLISH' then return redis.call('RPUSH', '${published}', ({...})[2]) end` : ''}
       return redis.call(name, ...)
     end,`,
  ],
]

/** A client of a real server on which the script reads the clock of the test. */
export function timedClient(
  url: string,
  clock: Clock,
  published?: string,
): { client: IoRedis; close(): void } {
  const redis = new Redis(url)
  const rewrittenOf = new Map<string, string>()
  const client: IoRedis = {
    status: 'ready',
    publish: (channel, message) => redis.publish(channel, message),
    evalsha: async () => {
      throw new Error('NOSCRIPT every call names its script')
    },
    async eval(script, keys, ...args) {
      const now = clock.now()
      const time = [Math.floor(now / 1000), Math.round((now % 1000) * 1000)]
      const rewritten = rewrittenOf.get(script) ?? rewrite(script, published)
      rewrittenOf.set(script, rewritten)
      return redis.eval(rewritten, keys, ...args, ...time)
    },
    subscribe: (...channels) => redis.subscribe(...channels),
    unsubscribe: (...channels) => redis.unsubscribe(...channels),
    duplicate: (override) => redis.duplicate(override),
    connect: () => redis.connect(),
    disconnect: () => redis.disconnect(),
    on: (event, listener) => redis.on(event, listener),
    off: (event, listener) => redis.off(event, listener),
  }
  return { client, close: () => redis.disconnect() }
}

function rewrite(script: string, published?: string): string {
  return replacements(published).reduce((text, [from = '', to = '']) => {
    if (!text.includes(from)) throw new Error(`the script does not contain «${from}» any more`)
    return text.replace(from, () => to)
  }, script)
}
