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
const HEAD = `
local call, match, sub = redis.call, string.match, string.sub
local HOUR = 3600000000
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local clock = time[1] .. sub('00000' .. time[2], -6)
`

/** The short ways, while nobody waits: to take a free row in good order, and to give it back in the same store. */
const SHORT = `
if op == 'acquire' then
  local found, ends = call('MGET', row, watched), now + sub(first, 1, 13)
  local free = found[1] or ''
  if #free == 35 and sub(free, 1, 1) == 'F' then
    local due = sub(free, 20)
    if tonumber(sub(free, 3, 18)) < now and tonumber(due) <= ends and ends <= due + HOUR then
      local held = 'F ' .. clock .. ' ' .. due .. ' ' .. clock .. ' ' .. clock .. ' ' .. first
      call('SET', row, held, 'KEEPTTL')
      if found[2] then call('PUBLISH', PREFIX .. ':changes', 'held ' .. held) end
      return clock .. ' fresh'
    end
  end
elseif op == 'end' then
  local found = call('MGET', row, watched)
  local held = found[1] or ''
  if sub(held, 85, 84 + #first) == first and sub(held, 1, 1) == 'F' then
    local state = now < sub(held, 54, 69) + sub(held, 71, 83) and 'released' or 'expired'
    call('SET', row, sub(held, 1, 35), 'KEEPTTL')
    if found[2] then call('PUBLISH', PREFIX .. ':changes', state .. ' ' .. held) end
    return clock .. ' ' .. state .. '\\n' .. sub(held, 54, 83)
  end
end
`

/** `SHAPES`: how many keys and arguments an operation takes. */
const OPERATIONS = `
${TRANSITIONS}

local slow, key, arg = nil, 1, 1
local SHAPES = {
  acquire = { 4, 3 }, release = { 3, 2 }, ['end'] = { 3, 2 }, force = { 3, 2 }, renew = { 3, 3 },
  expire = { 4, 3 }, read = { 1, 1 }, names = { 1, 4 }, due = { 1, 2 }, watch = { 1, 2 },
}

local function step()
  local k, a = key, arg
  local op, row, watched, first, second, third = ARGV[a], KEYS[k], KEYS[k + 1], ARGV[a + 1], ARGV[a + 2], ARGV[a + 3]
  key, arg = k + SHAPES[op][1], a + SHAPES[op][2]
  ${SHORT}
  local line, index = KEYS[k + 2], KEYS[k + 3]
  slow = slow or transitions()
  if op == 'acquire' then return clock .. ' ' .. slow.acquire(row, watched, line, index, first, second) end
  if op == 'release' or op == 'end' then return clock .. ' ' .. slow.release(row, watched, line, first) end
  if op == 'force' then return clock .. ' ' .. slow.force(row, watched, line, first) end
  if op == 'renew' then return clock .. ' ' .. slow.renew(row, watched, line, first, second) end
  if op == 'expire' then return clock .. ' ' .. slow.expire(row, watched, line, index, first, second) end
  if op == 'read' then return clock .. ' ' .. (call('GET', row) or '') end
  if op == 'names' then
    local from, to = sub(first, 1, 1) .. 'name:' .. sub(first, 2), '[name:' .. second .. '\\255'
    return call('ZRANGEBYLEX', row, from, to, 'LIMIT', 0, third)
  end
  if op == 'due' then
    return call('ZRANGEBYLEX', row, '[due:', '(due:' .. string.format('%.0f', now + 1), 'LIMIT', 0, first)
  end
  local known = call('EXISTS', row) == 1 and ' known' or ' new'
  call('SET', row, '', 'PX', first)
  return clock .. known
end
`

export interface Scripts {
  /** One operation. Its answer is a list, or a text after the clock and a space. */
  readonly one: string
  /** Several operations and their answers, in a list. One that fails does not harm the others. */
  readonly many: string
}

/** The prefix is part of the text, since it is the same in every call. JSON quotes it well for Lua. */
export function scriptsFor(prefix: string): Scripts {
  const head = `local PREFIX = ${JSON.stringify(prefix)}${HEAD}`
  return {
    one: `${head}
local op, row, watched, first = ARGV[1], KEYS[1], KEYS[2], ARGV[2]
${SHORT}
${OPERATIONS}
return step()
`,
    many: `${head}
${OPERATIONS}
local replies = {}
while ARGV[arg] do
  local ok, reply = pcall(step)
  if not ok then reply = 'error ' .. (type(reply) == 'table' and reply.err or reply) end
  replies[#replies + 1] = reply
end
return replies
`,
  }
}
