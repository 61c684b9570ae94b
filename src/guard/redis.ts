import { LeaseError } from '../core/index.ts'
import { expectFence, expectFresh, type Fence } from './fence.ts'

/** A client of `ioredis`. */
export interface IoredisGuardClient {
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>
}

/** A client of `redis`. */
export interface NodeRedisGuardClient {
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
  evalSha: unknown
}

export interface RedisGuard {
  /** The key that keeps the fence. Delete it only when nobody can write the guarded key any more. */
  readonly fenceKey: string
  /** Rejects with `stale-token` if a newer lease was here before; errors of the client pass as they are. */
  check(lease: Fence): Promise<void>
  /** Checks and sets the value in one step. `px`: milliseconds that the value is kept. */
  set(lease: Fence, value: string, options?: { readonly px?: number }): Promise<void>
}

/**
 * Lua for a script of yours: `holdfast_fence(fenceKey, token, id)` gives the fence that refuses the lease, or `nil`
 * when it may write. Tokens stay the strings that came, since Lua's `..` would round a number to 14 digits.
 */
export const REDIS_FENCE = `
local function holdfast_fence(fence_key, token, id)
  local seen = redis.call('HMGET', fence_key, 'token', 'id')
  if seen[1] and (tonumber(seen[1]) > tonumber(token) or (seen[1] == token and seen[2] ~= id)) then return seen end
  redis.call('HSET', fence_key, 'token', token, 'id', id)
  return nil
end`

const CHECK = `${REDIS_FENCE}
return holdfast_fence(KEYS[1], ARGV[1], ARGV[2])`

const SET = `${REDIS_FENCE}
local refused = holdfast_fence(KEYS[1], ARGV[1], ARGV[2])
if refused then return refused end
if ARGV[4] == '' then redis.call('SET', KEYS[2], ARGV[3]) else redis.call('SET', KEYS[2], ARGV[3], 'PX', ARGV[4]) end
return nil`

/**
 * Guards one key of Redis.
 *
 * @example
 * await redisGuard(client, 'document:42').set(lease, body)
 */
export function redisGuard(client: IoredisGuardClient | NodeRedisGuardClient, key: string): RedisGuard {
  const fenceKey = fenceKeyOf(key)

  async function run(lease: Fence, script: string, keys: string[], more: string[]): Promise<void> {
    expectFence(lease)
    const values = [String(lease.token), lease.id, ...more]
    const refused = await ('evalSha' in client
      ? client.eval(script, { keys, arguments: values })
      : client.eval(script, keys.length, ...keys, ...values))
    if (!refused) return
    const [token, id] = refused as [string, string]
    expectFresh(lease, { token: Number(token), id })
  }

  return {
    fenceKey,
    check: (lease) => run(lease, CHECK, [fenceKey], []),
    async set(lease, value, { px } = {}) {
      // Before the script, which would raise the fence and then fail.
      if (typeof value !== 'string') refuse('value', 'a string', typeof value)
      if (px !== undefined && !(Number.isSafeInteger(px) && px > 0))
        refuse('px', 'a whole number of milliseconds from 1', px)
      await run(lease, SET, [fenceKey, key], [value, px === undefined ? '' : String(px)])
    },
  }
}

/** In the slot of the key: a cluster hashes what is between the first `{` and the next `}`, or else all of it. */
function fenceKeyOf(key: string): string {
  if (/^[^{]*\{[^}]+\}/.test(key)) return `${key}:fence`
  if (key !== '' && !key.includes('}')) return `{${key}}:fence`
  return refuse('key', 'one without "}" or with a {tag}', JSON.stringify(key))
}

function refuse(argument: string, expected: string, came: unknown): never {
  throw new LeaseError('invalid-argument', `${argument}: expected ${expected}, got ${came}`)
}
