/**
 * The commands that a user of Redis must be allowed to run, for each part. Redis checks those inside scripts too.
 * `test/stores/redis/commands.test.ts` compares the lists with the scripts.
 */

export type RedisPart = 'leases' | 'documents' | 'audit' | 'secrets' | 'bus' | 'jobs' | 'guard'

const SCRIPTS = ['eval']
const LISTENING = ['subscribe', 'unsubscribe']

export const REDIS_COMMANDS: Readonly<Record<RedisPart, readonly string[]>> = {
  leases: [
    ...SCRIPTS,
    'evalsha',
    ...LISTENING,
    ...['del', 'exists', 'get', 'hdel', 'hget', 'hgetall', 'hset', 'mget', 'pexpireat', 'publish'],
    ...['pubsub|numsub', 'set', 'time', 'zadd', 'zcard', 'zrange', 'zrangebylex', 'zrank', 'zrem'],
    ...['zremrangebyscore', 'zrevrange', 'zscore'],
  ],
  documents: [
    ...SCRIPTS,
    ...['hdel', 'hexists', 'hget', 'hmget', 'hset', 'persist', 'pexpire', 'set', 'time'],
  ],
  audit: [...SCRIPTS, 'xadd', 'xrevrange'],
  secrets: [...SCRIPTS, 'get', 'set'],
  bus: [...LISTENING, 'publish'],
  jobs: [...SCRIPTS, 'hdel', 'hget', 'hlen', 'hset', 'persist', 'pexpireat', 'time'],
  guard: [...SCRIPTS, 'hmget', 'hset', 'set'],
}

/** The parts that `holdfast serve` uses. */
export const SERVED_PARTS: readonly RedisPart[] = ['leases', 'documents', 'audit', 'secrets', 'bus']

/** What each command inside the scripts is tried with. */
const TRIALS: Readonly<Record<string, readonly string[]>> = {
  del: ['KEY'],
  exists: ['KEY'],
  get: ['KEY'],
  hdel: ['KEY', 'x'],
  hexists: ['KEY', 'x'],
  hget: ['KEY', 'x'],
  hgetall: ['KEY'],
  hmget: ['KEY', 'x'],
  hset: ['KEY', 'x', 'x'],
  mget: ['KEY'],
  persist: ['KEY'],
  pexpire: ['KEY', '1'],
  pexpireat: ['KEY', '1'],
  publish: ['KEY', ''],
  'pubsub|numsub': ['KEY'],
  set: ['KEY', '', 'PX', '1'],
  time: [],
  xadd: ['KEY', '*', 'x', 'x'],
  xrevrange: ['KEY', '+', '-', 'COUNT', '1'],
  zadd: ['KEY', '1', 'x'],
  zcard: ['KEY'],
  zrange: ['KEY', '0', '0'],
  zrangebylex: ['KEY', '-', '+'],
  zrank: ['KEY', 'x'],
  zrem: ['KEY', 'x'],
  zremrangebyscore: ['KEY', '0', '0'],
  zrevrange: ['KEY', '0', '0'],
  zscore: ['KEY', 'x'],
}

/** Returns the commands that this user may not run. Redis checks that before the type of the key. */
const TRY = `
local denied = {}
for name, parts in pairs(cjson.decode(ARGV[1])) do
  for n, part in ipairs(parts) do if part == 'KEY' then parts[n] = KEYS[1] end end
  local reply = redis.pcall(unpack(parts))
  local said = type(reply) == 'table' and reply.err or ''
  if string.find(said, 'no permissions to run') or string.find(said, "can't run this command") then
    denied[#denied + 1] = name
  end
end
redis.pcall('DEL', KEYS[1])
return denied
`

/**
 * Which of the commands inside the scripts of these parts the user may not run. It tries each on a key of its own.
 * Rejects with the error of the client if the user may not run scripts or use that key.
 */
export async function deniedCommands(
  run: (script: string, keys: string[], args: string[]) => Promise<unknown>,
  parts: readonly RedisPart[],
  prefix: string,
): Promise<string[]> {
  const commands = new Set(parts.flatMap((part) => REDIS_COMMANDS[part]))
  const trials = Object.entries(TRIALS).filter(([name]) => commands.has(name))
  const calls = Object.fromEntries(trials.map(([name, args]) => [name, [...name.split('|'), ...args]]))
  const denied = await run(TRY, [`${prefix}:{0}:check`], [JSON.stringify(calls)])
  return Array.isArray(denied) ? denied.map(String).sort() : []
}
