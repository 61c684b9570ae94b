/**
 * The server's side, in Lua: the operations of one call, each atomic, all at one reading of the server's clock.
 * Numbers are whole microseconds. A double holds them exactly until 2255, but Lua prints only 14 digits, so every
 * computed number is printed with `%.0f`.
 */

import { KEEP_FREE_MS } from '../options.ts'
import { CHECKED_WAITERS } from './options.ts'
import { UNWAITED_FREE_ROW, UNWAITED_HELD_ROW, WAITER } from './rows.ts'
import { TRANSITIONS } from './transitions.ts'

const HEAD = `
local call, match, sub = redis.call, string.match, string.sub
local KEEP_FREE = ${KEEP_FREE_MS * 1000}
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
-- The same as text, with all six digits of the microseconds. string.format would take longer.
local clock = time[1] .. sub('00000' .. time[2], -6)
`

/**
 * The usual case while nobody waits: a process takes a free row, and releases it again. These are statements that
 * return the answer, or continue in every other case. They are not a function, because creating one in each call would
 * cost about as much as the parsing.
 */
const SHORT_PATH = `
if op == 'acquire' then
  local found = call('MGET', key, watched)
  local token, due = match(found[1] or '', '^${UNWAITED_FREE_ROW}$')
  if token then
    local ends = now + match(first, '%d+')
    if tonumber(token) < now and tonumber(due) <= ends and ends <= due + KEEP_FREE then
      local row = 'F ' .. clock .. ' ' .. due .. ' ' .. clock .. ' ' .. clock .. ' ' .. first
      call('SET', key, row, 'KEEPTTL')
      if found[2] then call('PUBLISH', PREFIX .. ':changes', 'held ' .. row) end
      return clock .. ' fresh'
    end
  end
elseif op == 'end' then
  local found = call('MGET', key, watched)
  local free, times, since, span, who = match(found[1] or '', '^${UNWAITED_HELD_ROW}')
  -- After the clock stepped back, the lease is not as the row has it.
  if who == first and now >= tonumber(since) then
    local state = now < since + span and 'released' or 'expired'
    call('SET', key, free, 'KEEPTTL')
    if found[2] then call('PUBLISH', PREFIX .. ':changes', state .. ' ' .. found[1]) end
    return clock .. ' ' .. state .. '\\n' .. times
  end
end
`

/** `ARG_COUNT`: how many arguments each operation takes, its name included. `KEY_COUNT`: how many keys, if not five. */
const operations = (shortPath: string) => `
-- In a cluster (the channel begins with an asterisk) a process may listen on another node.
local function mayListenElsewhere(channel) return sub(channel, 1, 1) == '*' end

${TRANSITIONS}

local ARG_COUNT = {
  acquire = 4, share = 5, release = 2, ['end'] = 2, force = 2, renew = 3, expire = 3, read = 1, names = 4, due = 2,
  watch = 2, waiting = 2,
}
local KEY_COUNT = { read = 2, names = 1, due = 1, waiting = 1, watch = 1 }
local nextKey, nextArg, transitions = 1, 1, nil

-- Operations that take the number of their first key. The others take the five keys of a resource.
local SIMPLE = {
  -- The row, or the leases of a shared row, also those that have ended and keep the resource.
  read = function(k)
    local row, leases = call('GET', KEYS[k]) or '', {}
    if sub(row, 1, 1) ~= 'S' then return clock .. ' ' .. row end
    local found = call('HGETALL', KEYS[k + 1])
    for n = 1, #found, 2 do
      if sub(found[n], 1, 4) ~= 'for ' then leases[#leases + 1] = found[n + 1] end
    end
    return clock .. ' ' .. table.concat(leases, '\\n')
  end,
  names = function(k, from, prefix, limit)
    local first, last = sub(from, 1, 1) .. 'name:' .. sub(from, 2), '[name:' .. prefix .. '\\255'
    return call('ZRANGEBYLEX', KEYS[k], first, last, 'LIMIT', 0, limit)
  end,
  due = function(k, limit)
    return call('ZRANGEBYLEX', KEYS[k], '[due:', '(due:' .. string.format('%.0f', now + 1), 'LIMIT', 0, limit)
  end,
  -- How many wait, and the first of them. Those of dead processes are left out.
  waiting = function(k, limit)
    local found, listens = call('ZRANGE', KEYS[k], 0, ${2 * CHECKED_WAITERS - 1}), {}
    local first, dead = {}, 0
    for n = 2, #found, 2 do
      local channel = match(found[n], '${WAITER}') or ''
      if listens[channel] == nil then
        -- An error means that this user may not ask.
        local count = redis.pcall('PUBSUB', 'NUMSUB', PREFIX .. ':wake:' .. channel)[2] or 1
        listens[channel] = count > 0 or mayListenElsewhere(channel)
      end
      if not listens[channel] then dead = dead + 1
      elseif #first < tonumber(limit) then first[#first + 1] = found[n] end
    end
    return { call('ZCARD', KEYS[k]) / 2 - dead, unpack(first) }
  end,
  watch = function(k, ms)
    local isKnown = call('EXISTS', KEYS[k]) == 1
    call('SET', KEYS[k], '', 'PX', ms)
    return clock .. (isKnown and ' known' or ' new')
  end,
}

local function keysAt(k)
  return { row = KEYS[k], watched = KEYS[k + 1], queue = KEYS[k + 2], index = KEYS[k + 3], shared = KEYS[k + 4] }
end

local function step()
  local k, a = nextKey, nextArg
  local op, first, second, third, fourth = ARGV[a], ARGV[a + 1], ARGV[a + 2], ARGV[a + 3], ARGV[a + 4]
  local simple = SIMPLE[op]
  nextKey, nextArg = k + (KEY_COUNT[op] or 5), a + ARG_COUNT[op]
  if simple then return simple(k, first, second, third) end
  local key, watched = KEYS[k], KEYS[k + 1]
  ${shortPath}
  transitions = transitions or createTransitions()
  return clock .. ' ' .. transitions[op](keysAt(k), first, second, third, fourth)
end
`

export interface Scripts {
  /** One operation. It answers with a list, or with a text after the clock and a space. */
  readonly one: string
  /** Several operations. It answers with a list of their answers. One that fails does not affect the others. */
  readonly many: string
  /** Several acquire requests: the answers of all, each of them a grant, or an empty list and no change. */
  readonly together: string
}

/** The prefix is part of the text, because it is the same in every call. JSON quotes it in a way that Lua reads. */
export function scriptsFor(prefix: string): Scripts {
  const head = `local PREFIX = ${JSON.stringify(prefix)}${HEAD}`
  return {
    one: `${head}
local op, key, watched, first = ARGV[1], KEYS[1], KEYS[2], ARGV[2]
${SHORT_PATH}
${operations('')}
return step()
`,
    many: `${head}
${operations(SHORT_PATH)}
local replies = {}
while ARGV[nextArg] do
  local ok, reply = pcall(step)
  if not ok then reply = 'error ' .. (type(reply) == 'table' and reply.err or reply) end
  replies[#replies + 1] = reply
end
return replies
`,
    together: `${head}
${operations(SHORT_PATH)}
transitions = createTransitions()
local k, a = 1, 1
while ARGV[a] do
  local terms = ARGV[a] == 'share' and ARGV[a + 4] or ''
  if not transitions.fits(keysAt(k), ARGV[a + 1], terms) then return {} end
  k, a = k + 5, a + ARG_COUNT[ARGV[a]]
end
local replies = {}
while ARGV[nextArg] do replies[#replies + 1] = step() end
return replies
`,
  }
}
