import { expectOptions, refuse } from '../base/arguments.ts'
import { type Duration, expectDuration } from '../base/duration.ts'
import { warnOnce } from '../base/warn.ts'
import { type RedisScriptClient, redisEval } from '../clients/redis.ts'
import { expectFence, expectFresh, type Fence } from './fence.ts'

export interface RedisGuard {
  /** The key that stores the fence. Delete it only when nobody can write the guarded key any more. */
  readonly fenceKey: string
  /**
   * Records the lease, so that older ones cannot write any more. Rejects with `stale-token` if the guard has seen a
   * newer lease. It protects no write of yours: `set` does. Errors of the client are passed on unchanged.
   *
   * @throws `stale-token`
   */
  announce(lease: Fence): Promise<void>
  /** @deprecated It is `announce`: a check alone protects no later write. */
  check(lease: Fence): Promise<void>
  /**
   * Checks and sets the value in one step. `px`: how long Redis keeps the value; without it, forever.
   *
   * @throws `stale-token`
   */
  set(lease: Fence, value: string, options?: { readonly px?: Duration | undefined }): Promise<void>
}

/**
 * Lua for a script of yours: `holdfast_fence(fenceKey, token, id)` returns the fence that refuses the lease, or `nil`
 * if the lease may write. Tokens stay strings, because Lua's `..` would round a number to 14 digits.
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
export function redisGuard(client: RedisScriptClient, key: string): RedisGuard {
  const evaluate = redisEval(client)
  const fenceKey = fenceKeyOf(key)

  async function run(lease: Fence, script: string, keys: string[], more: string[]): Promise<void> {
    expectFence(lease)
    const seen = await evaluate(script, keys, [String(lease.token), lease.id, ...more])
    if (seen === null || seen === undefined) return
    if (!Array.isArray(seen)) refuse('client', 'one that returns the answer of its script', client)
    const [token, id] = seen
    expectFresh(lease, { token: Number(token), id })
  }

  const announce = (lease: Fence) => run(lease, CHECK, [fenceKey], [])

  return {
    fenceKey,
    announce,
    check(lease) {
      warnOnce('redisGuard: check() is now announce(), because it protects no later write: write with set()')
      return announce(lease)
    },
    async set(lease, value, options = {}) {
      // Before the script, which would raise the fence and then fail.
      if (typeof value !== 'string') refuse('value', 'a string', value)
      expectOptions(options, { px: 1 })
      const { px } = options
      const keptMs = px === undefined ? '' : String(expectDuration('px', px, 1, Number.MAX_SAFE_INTEGER))
      await run(lease, SET, [fenceKey, key], [value, keptMs])
    },
  }
}

/** In the slot of the key: a cluster hashes what is between the first `{` and the next `}`, or else all of it. */
function fenceKeyOf(key: string): string {
  if (typeof key === 'string') {
    if (/^[^{]*\{[^}]+\}/.test(key)) return `${key}:fence`
    if (key !== '' && !key.includes('}')) return `{${key}}:fence`
  }
  return refuse('key', 'a text without "}", or with a {tag}', key)
}
