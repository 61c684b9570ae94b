import { TRANSITIONS } from './transitions.ts'

/**
 * The server's side: one Lua script that carries out the operations of a turn, each atomic, all at one reading of
 * the server's clock. Times are whole microseconds; a double holds them exactly until 2255, but Lua prints 14
 * digits, so every number goes through `%.0f`. The transitions are those of `lease-row.ts`.
 *
 * A resource has two keys, and shares a third with the other resources of its shard:
 *
 *     row    hash   id       the holder's id; absent while nobody holds it
 *                   lease    the last lease: token acquired since span channel about
 *                   due      its entry in the index: not later than the expiry, nor more than an hour before it
 *                   line     present while somebody waits: the end of the reservation, and for whom it is
 *                   seq      the last number given out in line
 *                   w:<id>   the channel of a waiter
 *     line   zset   ids of the waiters by number
 *     index  zset   name:<resource>   due:<time> <resource>   floor:<token>, all of score 0, in order of bytes
 *
 * A lease ends at `since + span`, and `span` is all that a clock which steps back may leave to it. A released row
 * stays for a while: it knows its token and its place in the index, so the next grant and release touch nothing
 * else. A row that is dropped leaves its token behind as the floor under every new row of the shard.
 */
export const SCRIPT = `
local call, match, format, sub = redis.call, string.match, string.format, string.sub
local HOUR, RESERVATION = 3600000000, 1000000
local changes, wakes = ARGV[1] .. ':changes', ARGV[1] .. ':wake:'
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local clock = time[1] .. sub('00000' .. time[2], -6)

${TRANSITIONS}

local slow, key, arg
local function step()
  local op, k, a = ARGV[arg], key, arg
  local row = KEYS[k]
  if op == 'acquire' then
    key, arg = k + 3, a + 5
    local found = call('HMGET', row, 'id', 'lease', 'due', 'line')
    local due, ttl = found[3], ARGV[a + 2]
    if due and not found[1] and not found[4] and tonumber(match(found[2], '^%d+')) < now
      and tonumber(due) <= now + ttl and now + ttl <= due + HOUR then
      local lease = clock .. ' ' .. clock .. ' ' .. clock .. ' ' .. ttl .. ' ' .. ARGV[a + 3]
      call('HSET', row, 'id', ARGV[a + 1], 'lease', lease)
      call('PUBLISH', changes, 'held ' .. lease)
      return 'fresh'
    end
    slow = slow or transitions()
    return slow.acquire(row, KEYS[k + 1], KEYS[k + 2], ARGV[a + 1], ttl, ARGV[a + 3], ARGV[a + 4])
  elseif op == 'release' then
    key, arg = k + 2, a + 3
    local id, found = ARGV[a + 1], call('HMGET', row, 'id', 'lease', 'line')
    if found[1] == id and not found[3] then
      local since, span, channel = match(found[2], '^%d+ %d+ (%d+) (%d+) (%S+) ')
      local state = now < since + span and 'released' or 'expired'
      call('HDEL', row, 'id')
      call('PUBLISH', changes, state .. ' ' .. found[2])
      if channel ~= ARGV[a + 2] then call('PUBLISH', wakes .. channel, 'lost ' .. id) end
      return { state, found[2], '' }
    end
    slow = slow or transitions()
    return slow.release(row, KEYS[k + 1], id, ARGV[a + 2])
  elseif op == 'force' then
    key, arg = k + 2, a + 2
    slow = slow or transitions()
    return slow.force(row, KEYS[k + 1], ARGV[a + 1])
  elseif op == 'renew' then
    key, arg = k + 2, a + 3
    slow = slow or transitions()
    return slow.renew(row, KEYS[k + 1], ARGV[a + 1], ARGV[a + 2])
  elseif op == 'read' then
    key, arg = k + 1, a + 1
    local found = call('HMGET', row, 'id', 'lease')
    return found[1] and (found[2] or '?') or ''
  elseif op == 'names' then
    key, arg = k + 1, a + 4
    local from, to = ARGV[a + 1], '[name:' .. ARGV[a + 2] .. '\\255'
    return call('ZRANGEBYLEX', row, sub(from, 1, 1) .. 'name:' .. sub(from, 2), to, 'LIMIT', 0, ARGV[a + 3])
  elseif op == 'due' then
    key, arg = k + 1, a + 2
    return call('ZRANGEBYLEX', row, '[due:', '(due:' .. format('%.0f', now + 1), 'LIMIT', 0, ARGV[a + 1])
  end
  key, arg = k + 3, a + 3
  slow = slow or transitions()
  return slow.expire(row, KEYS[k + 1], KEYS[k + 2], ARGV[a + 1], ARGV[a + 2])
end

local replies = { clock }
key, arg = 1, 2
while ARGV[arg] do
  local ok, reply = pcall(step)
  if not ok then reply = { 'error', type(reply) == 'table' and reply.err or reply } end
  replies[#replies + 1] = reply
end
return replies
`
