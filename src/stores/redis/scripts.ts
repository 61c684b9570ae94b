import { TRANSITIONS } from './transitions.ts'

/**
 * The server's side, in Lua: the operations of a turn, each atomic, all at one reading of the server's clock.
 * Times are whole microseconds; a double holds them exactly until 2255, but Lua prints 14 digits, so a number that
 * was computed goes through `%.0f`. That is 16 digits, and 13 for a span, until 2286: the short ways cut by place.
 *
 * A resource has a key of its own, a second one while somebody waits, and two that it shares with its shard:
 *
 *     row      string  <who waits> <token> <due> [<acquired> <since> <span> <channel> <id> <about>]
 *     line     zset    two members of the same score for each waiter, `<id>` and `<id> <channel>`
 *     index    zset    `name:<resource>`, `due:<time> <resource>` and `floor:<token>`, in order of bytes
 *     watched  string  there while somebody watches
 *
 * Who waits: `F`, nobody; or `W<end>:<id>`, the reservation, which is `W0:` while there is none. A lease, in
 * brackets, ends at `since + span`; `span` is all that a clock which steps back may leave to it. `due` is the row's
 * entry in the index: not later than the lease's end, nor more than an hour before it. A released row stays for a
 * while: it knows its token and its entry, so that the next grant and release touch nothing but the row. A row that
 * is dropped leaves its token behind as the floor under every new row of the shard.
 */
const OPERATIONS = `
local call, match, sub = redis.call, string.match, string.sub
local HOUR = 3600000000
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local clock = time[1] .. sub('00000' .. time[2], -6)

${TRANSITIONS}

local key, arg, slow = 1, 2, nil
local function step()
  local op, k, a = ARGV[arg], key, arg
  local row = KEYS[k]
  if op == 'acquire' then
    key, arg = k + 4, a + 4
    local ttl, found = ARGV[a + 1], call('MGET', row, KEYS[k + 1])
    local free, ends = found[1] or '', now + ttl
    if #free == 35 and sub(free, 1, 1) == 'F' then
      local due = sub(free, 20)
      if tonumber(sub(free, 3, 18)) < now and tonumber(due) <= ends and ends <= due + HOUR then
        local held = 'F ' .. clock .. ' ' .. due .. ' ' .. clock .. ' ' .. clock .. ' ' .. ttl .. ' ' .. ARGV[a + 2]
        call('SET', row, held, 'KEEPTTL')
        if found[2] then call('PUBLISH', ARGV[1] .. ':changes', 'held ' .. held) end
        return 'fresh'
      end
    end
    slow = slow or transitions()
    return slow.acquire(row, KEYS[k + 1], KEYS[k + 2], KEYS[k + 3], ttl, ARGV[a + 2], ARGV[a + 3])
  elseif op == 'release' then
    key, arg = k + 3, a + 2
    local who, found = ARGV[a + 1], call('MGET', row, KEYS[k + 1])
    local held = found[1] or ''
    if sub(held, 85, 84 + #who) == who and sub(held, 1, 1) == 'F' then
      local state = now < sub(held, 54, 69) + sub(held, 71, 83) and 'released' or 'expired'
      call('SET', row, sub(held, 1, 35), 'KEEPTTL')
      if found[2] then call('PUBLISH', ARGV[1] .. ':changes', state .. ' ' .. held) end
      return state .. '\\n', held
    end
    slow = slow or transitions()
    return slow.release(row, KEYS[k + 1], KEYS[k + 2], who)
  elseif op == 'force' then
    key, arg = k + 3, a + 2
    slow = slow or transitions()
    return slow.force(row, KEYS[k + 1], KEYS[k + 2], ARGV[a + 1])
  elseif op == 'renew' then
    key, arg = k + 3, a + 3
    slow = slow or transitions()
    return slow.renew(row, KEYS[k + 1], KEYS[k + 2], ARGV[a + 1], ARGV[a + 2])
  elseif op == 'expire' then
    key, arg = k + 4, a + 3
    slow = slow or transitions()
    return slow.expire(row, KEYS[k + 1], KEYS[k + 2], KEYS[k + 3], ARGV[a + 1], ARGV[a + 2])
  elseif op == 'read' then
    key, arg = k + 1, a + 1
    return call('GET', row) or ''
  elseif op == 'names' then
    key, arg = k + 1, a + 4
    local from, to = ARGV[a + 1], '[name:' .. ARGV[a + 2] .. '\\255'
    return call('ZRANGEBYLEX', row, sub(from, 1, 1) .. 'name:' .. sub(from, 2), to, 'LIMIT', 0, ARGV[a + 3])
  elseif op == 'due' then
    key, arg = k + 1, a + 2
    return call('ZRANGEBYLEX', row, '[due:', '(due:' .. string.format('%.0f', now + 1), 'LIMIT', 0, ARGV[a + 1])
  end
  key, arg = k + 1, a + 2
  local known = call('EXISTS', row) == 1
  call('SET', row, '', 'PX', ARGV[a + 1])
  return known and 'known' or 'new'
end
`

/** One operation. Its answer, where it is a text, follows the clock and a space. */
export const ONE = `${OPERATIONS}
local reply, rest = step()
if type(reply) == 'table' then return { clock, reply } end
return clock .. ' ' .. reply .. (rest or '')
`

/** Several operations: the clock and their answers. One that fails does not harm the others. */
export const MANY = `${OPERATIONS}
local replies = { clock }
while ARGV[arg] do
  local ok, reply, rest = pcall(step)
  if not ok then reply = 'error ' .. (type(reply) == 'table' and reply.err or reply) end
  replies[#replies + 1] = rest and reply .. rest or reply
end
return replies
`
