/**
 * What the script does when somebody waits, or when a row is new, taken over, renewed or swept: `lease-row.ts` in
 * Lua.
 */
export const TRANSITIONS = `
local function transitions()
  local RESERVATION = 1000000
  local slow = {}

  local function digits(number) return string.format('%.0f', number) end
  local function spanDigits(number) return string.format('%013.0f', number) end

  local function load(row, watched, line, index)
    local found = call('MGET', row, watched)
    local r = { row = row, line = line, index = index, watched = found[2] }
    if found[1] then
      local waits, lease
      waits, r.token, r.due, lease = match(found[1], '^(%S+) (%d+) (%d+)(.*)$')
      r.ends, r.reserved = match(waits or '', '^W(%d+):(.*)$')
      r.waits = r.ends ~= nil
      if r.reserved == '' then r.reserved = nil end
      r.acquired, r.since, r.span, r.channel, r.id, r.about =
        match(lease or '', '^ (%d+) (%d+) (%d+) (%S+) (%S+) (.+)$')
      if not r.token or (waits ~= 'F' and not r.waits) or (lease ~= '' and not r.id) then
        error('the value is no lease', 0)
      end
    elseif call('EXISTS', row) == 1 then
      error('the value is no lease', 0)
    end
    return r
  end

  local function text(r)
    local waits = r.waits and 'W' .. (r.reserved and r.ends or '0') .. ':' .. (r.reserved or '') or 'F'
    local free = waits .. ' ' .. r.token .. ' ' .. r.due
    if not r.id then return free end
    return table.concat({ free, r.acquired, r.since, r.span, r.channel, r.id, r.about }, ' ')
  end

  local function expires(r) return r.since + r.span end
  local function live(r) return r.id and now < expires(r) end
  local function shown(r) return live(r) and text(r) or '' end

  local function lookAt(r, due)
    local name = sub(r.row, #r.index + 2)
    if r.due then call('ZREM', r.index, 'due:' .. r.due .. ' ' .. name) end
    r.due = digits(due)
    call('ZADD', r.index, 0, 'name:' .. name, 0, 'due:' .. r.due .. ' ' .. name)
  end

  local function save(r)
    if not r.token then return end
    call('SET', r.row, text(r), 'KEEPTTL')
    if r.id then call('PEXPIREAT', r.row, digits((math.max(expires(r), r.token) + 2 * HOUR) / 1000)) end
  end

  local function tell(r, state)
    if r.watched then call('PUBLISH', PREFIX .. ':changes', state .. ' ' .. text(r)) end
  end

  local function push(channel, message) return call('PUBLISH', PREFIX .. ':wake:' .. channel, message) end
  local function isElsewhere(channel) return sub(channel, 1, 1) == '*' end

  local function finish(r, state, by)
    local ended = text(r)
    tell(r, state)
    if r.channel ~= by then push(r.channel, 'lost ' .. r.token .. ' ' .. r.id) end
    r.id = nil
    return state .. '\\n' .. ended
  end

  local function waiters(r, first, last)
    local found, list = call('ZRANGE', r.line, 2 * first, 2 * last + 1), {}
    for n = 1, #found, 2 do
      list[#list + 1] = { id = found[n], channel = sub(found[n + 1], #found[n] + 2) }
    end
    return list
  end

  local function channelOf(r, id)
    local place = call('ZRANK', r.line, id)
    return place and waiters(r, place / 2, place / 2)[1].channel
  end

  local function leave(r, id)
    local number = call('ZSCORE', r.line, id)
    if number then call('ZREMRANGEBYSCORE', r.line, number, number) end
    if r.reserved == id then r.reserved = nil end
  end

  local function dismiss(r, channel, me)
    for _, waiter in ipairs(waiters(r, 0, -1)) do
      if waiter.channel == channel then
        leave(r, waiter.id)
        if waiter.id ~= me then push(channel, 'wake 0 ' .. waiter.id) end
      end
    end
  end

  local function standBy(r, channel, me)
    local behind = waiters(r, 1, 16)
    local next = behind[1]
    for _, waiter in ipairs(behind) do
      if waiter.channel ~= channel then next = waiter break end
    end
    if next and next.id ~= me then push(next.channel, 'wake 1000 ' .. next.id) end
  end

  local function settle(r, me)
    if r.reserved then
      r.ends = digits(math.min(r.ends, now + RESERVATION))
      if tonumber(r.ends) <= now then
        dismiss(r, channelOf(r, r.reserved), me)
        r.reserved = nil
      end
    end
    while r.waits and not r.reserved and not live(r) do
      local head = waiters(r, 0, 0)[1]
      if not head then
        r.waits = false
      elseif head.id == me or push(head.channel, 'wake 0 ' .. head.id) > 0 or isElsewhere(head.channel) then
        r.reserved, r.ends = head.id, digits(now + RESERVATION)
        standBy(r, head.channel, me)
      else
        dismiss(r, head.channel, me)
      end
    end
  end

  local function stepBack(r)
    if r.id and now < tonumber(r.since) then r.since = clock end
  end

  local function extend(r, ttl)
    local ends = math.max(expires(r), now + ttl)
    r.since, r.span = clock, spanDigits(ends - now)
  end

  local function keepDue(r)
    local ends = expires(r)
    if not r.due or tonumber(r.due) > ends or r.due + HOUR < ends then lookAt(r, ends) end
  end

  local function floorOf(index)
    return call('ZRANGEBYLEX', index, '[floor:', '(floor;', 'LIMIT', 0, 1)[1]
  end

  local function grant(r, ask)
    local replaced = r.id and '\\n' .. finish(r, live(r) and 'taken-over' or 'expired') or ''
    local last = r.token
    if not last then
      last = match(floorOf(r.index) or '', '%d+') or 0
      call('DEL', r.line)
    end
    local verb = r.token and 'granted' or 'created'
    r.token = digits(math.max(last + 1, now))
    r.acquired, r.since = clock, clock
    r.span, r.channel, r.id, r.about = match(ask, '^(%S+) (%S+) (%S+) (.+)$')
    if r.waits then leave(r, r.id) end
    r.reserved = nil
    return verb, replaced
  end

  local function stand(r, id, channel, wait)
    if wait then
      local number = call('ZSCORE', r.line, id)
      if number then call('ZREMRANGEBYSCORE', r.line, number, number)
      else number = (call('ZREVRANGE', r.line, 0, 0, 'WITHSCORES')[2] or 0) + 1 end
      call('ZADD', r.line, number, id, number, id .. ' ' .. channel)
      r.waits = true
    end
    local free = live(r) and expires(r) - now or r.reserved and r.ends - now or 0
    if r.waits then call('PEXPIREAT', r.line, digits((now + free + 2 * HOUR) / 1000)) end
    local place = call('ZRANK', r.line, id)
    return 'refused', '\\n' .. (place and digits(place / 2) or '') .. '\\n' .. digits(free)
  end

  function slow.acquire(row, watched, line, index, ask, mode)
    local r = load(row, watched, line, index)
    local ttl, channel, id = match(ask, '^(%S+) (%S+) (%S+) ')
    stepBack(r)
    settle(r, id)
    local held, verb, more = live(r), 'granted', ''
    if held and r.id == id then
      extend(r, ttl)
    elseif held and r.token == match(mode, '%d+') or not held and (not r.reserved or r.reserved == id) then
      verb, more = grant(r, ask)
    else
      verb, more = stand(r, id, channel, sub(mode, 1, 4) == 'wait')
    end
    if r.id then keepDue(r) end
    if verb ~= 'refused' then tell(r, 'held') end
    save(r)
    return verb .. '\\n' .. shown(r) .. more
  end

  function slow.renew(row, watched, line, id, ttl)
    local r = load(row, watched, line)
    stepBack(r)
    settle(r)
    local mine = live(r) and r.id == id
    if mine then
      extend(r, ttl)
      tell(r, 'held')
    end
    save(r)
    return (mine and 'renewed\\n' or 'refused\\n') .. shown(r)
  end

  local function giveUp(r, owns, by, me)
    local ended = owns and finish(r, live(r) and 'released' or 'expired', by) or '\\n'
    settle(r, me)
    save(r)
    return ended .. '\\n' .. shown(r)
  end

  function slow.release(row, watched, line, who)
    local r = load(row, watched, line)
    local channel, id = match(who, '^(%S+) (%S+) $')
    settle(r, id)
    if r.waits then leave(r, id) end
    return giveUp(r, r.id == id, channel, id)
  end

  function slow.force(row, watched, line, token)
    local r = load(row, watched, line)
    settle(r)
    return giveUp(r, r.id and r.token == token)
  end

  local function forget(r, due, name)
    local floor = floorOf(r.index)
    if not floor or tonumber(sub(floor, 7)) < tonumber(r.token) then
      if floor then call('ZREM', r.index, floor) end
      call('ZADD', r.index, 0, 'floor:' .. r.token)
    end
    call('DEL', r.row)
    call('ZREM', r.index, 'name:' .. name, 'due:' .. due .. ' ' .. name)
  end

  function slow.expire(row, watched, line, index, due, hand)
    local r = load(row, watched, line, index)
    local name = sub(row, #index + 2)
    if r.due ~= due then
      call('ZREM', index, 'due:' .. due .. ' ' .. name)
      if not r.token then call('ZREM', index, 'name:' .. name) end
      return ''
    end
    stepBack(r)
    local lapsed, ended = r.id and not live(r), ''
    if lapsed and hand ~= 'hand' then return '' end
    if lapsed then ended = finish(r, 'expired') end
    settle(r)
    if r.id or r.waits then
      lookAt(r, r.id and expires(r) or r.ends)
      save(r)
    else
      forget(r, due, name)
    end
    return ended
  end

  return slow
end
`
