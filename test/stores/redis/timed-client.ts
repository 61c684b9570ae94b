import { Redis } from 'ioredis'
import type { Clock } from '../../../src/core/index.ts'
import type { IoRedis } from '../../../src/stores/redis/index.ts'

/** The lines of the script that depend on time, and their replacements in a test. */
const REPLACEMENTS = [
  [
    `local time = call('TIME')`,
    `local time = { ARGV[#ARGV - 1], ARGV[#ARGV] } ARGV[#ARGV] = nil ARGV[#ARGV] = nil`,
  ],
  // The server expires keys by its own clock, which is not that of the test.
  [
    `= redis.call,`,
    `= function(name, ...) if name ~= 'PEXPIREAT' then return redis.call(name, ...) end end,`,
  ],
] as const

/** A client of a real server on which the script reads the clock of the test. */
export function timedClient(url: string, clock: Clock): { client: IoRedis; close(): void } {
  const redis = new Redis(url)
  const client: IoRedis = {
    status: 'ready',
    publish: (channel, message) => redis.publish(channel, message),
    evalsha: async () => {
      throw new Error('NOSCRIPT every call sends its script')
    },
    eval: (script, keys, ...args) => {
      const now = clock.now()
      const time = [Math.floor(now / 1000), Math.round((now % 1000) * 1000)]
      return redis.eval(rewrite(script), keys, ...args, ...time)
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

function rewrite(script: string): string {
  return REPLACEMENTS.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`the script does not contain «${from}» any more`)
    return text.replace(from, to)
  }, script)
}
