/**
 * What the script does when somebody waits, or when a row is new, taken over or swept: `lease-row.ts` in Lua.
 * Built only when one of these comes up, since to make the functions costs as much as a grant.
 */
export const TRANSITIONS = `
local function transitions()
  local function digits(number) return format('%.0f', number) end

  local function load(row, line, index)
    local found = call('HMGET', row, 'id', 'lease', 'due', 'line')
    local r = { row = row, line = line, index = index, id = found[1], due = found[3], waits = found[4] }
    if found[2] then
      r.token, r.acquired, r.since, r.span, r.channel, r.about =
        match(found[2], '^(%d+) (%d+) (%d+) (%d+) (%S+) (.+)$')
    end
    if r.waits then r.ends, r.reserved = match(r.waits, '^(%d+) ?(.*)$') end
    if r.reserved == '' then r.reserved = nil end
    if not r.token and call('EXISTS', row) == 1 or r.waits and not r.ends then
      error('the value is no lease', 0)
    end
    return r
  end

  local function expires(r) return r.since + r.span end
  local function live(r) return r.id and now < expires(r) end
  local function packed(r)
    return table.concat({ r.token, r.acquired, r.since, r.span, r.channel, r.about }, ' ')
  end

  local function push(channel, message) return call('PUBLISH', wakes .. channel, message) end
  local function isElsewhere(channel) return sub(channel, 1, 1) == '*' end
  local function channelOf(r, id) return call('HGET', r.row, 'w:' .. id) end

  local function lookAt(r, due)
    local name = sub(r.row, #r.index + 2)
    if r.due then call('ZREM', r.index, 'due:' .. r.due .. ' ' .. name) end
    r.due = digits(due)
    call('ZADD', r.index, 0, 'name:' .. name, 0, 'due:' .. r.due .. ' ' .. name)
    call('HSET', r.row, 'due', r.due)
  end

  local function keep(r)
    local ends = expires(r)
    if not r.due or tonumber(r.due) > ends or r.due + HOUR < ends then lookAt(r, ends) end
    call('PEXPIREAT', r.row, digits((math.max(ends, r.token) + 2 * HOUR) / 1000))
  end

  local function hold(r)
    local lease = packed(r)
    call('HSET', r.row, 'id', r.id, 'lease', lease)
    call('PUBLISH', changes, 'held ' .. lease)
    return lease
  end

  local function finish(r, state, by)
    local lease = packed(r)
    call('HDEL', r.row, 'id')
    call('PUBLISH', changes, state .. ' ' .. lease)
    if r.channel ~= by then push(r.channel, 'lost ' .. r.id) end
    r.id = false
    return lease
  end

  local function markLine(r)
    if r.waits then call('HSET', r.row, 'line', (r.reserved and r.ends or '0') .. ' ' .. (r.reserved or ''))
    else call('HDEL', r.row, 'line') end
  end

  local function leave(r, id)
    call('ZREM', r.line, id)
    call('HDEL', r.row, 'w:' .. id)
    if r.reserved == id then r.reserved = nil end
    r.waits = call('EXISTS', r.line) == 1
  end

  local function dismiss(r, channel, me)
    for _, id in ipairs(call('ZRANGE', r.line, 0, -1)) do
      if channelOf(r, id) == channel then
        leave(r, id)
        if id ~= me then push(channel, 'wake 0 ' .. id) end
      end
    end
  end

  local function standBy(r, channel, me)
    local behind, other = call('ZRANGE', r.line, 1, 16), nil
    for _, id in ipairs(behind) do
      if channelOf(r, id) ~= channel then other = id break end
    end
    local next = other or behind[1]
    if next and next ~= me then push(channelOf(r, next), 'wake 1000 ' .. next) end
  end

  local function settle(r, me)
    if not r.waits then return end
    if r.reserved then
      r.ends = digits(math.min(r.ends, now + RESERVATION))
      if tonumber(r.ends) <= now then
        dismiss(r, channelOf(r, r.reserved), me)
        r.reserved = nil
      end
    end
    while r.waits and not r.reserved and not live(r) do
      local head = call('ZRANGE', r.line, 0, 0)[1]
      local channel = head and channelOf(r, head)
      if not channel then
        leave(r, head or '')
      elseif head == me or push(channel, 'wake 0 ' .. head) > 0 or isElsewhere(channel) then
        r.reserved, r.ends = head, digits(now + RESERVATION)
        standBy(r, channel, me)
      else
        dismiss(r, channel, me)
      end
    end
    markLine(r)
  end

  local function stepBack(r)
    if not r.id or now >= tonumber(r.since) then return end
    r.since = clock
    call('HSET', r.row, 'lease', packed(r))
    keep(r)
  end

  local function floorOf(index)
    return call('ZRANGEBYLEX', index, '[floor:', '(floor;', 'LIMIT', 0, 1)[1]
  end

  local function grant(r, id, ttl, about)
    local verb, replaced, ended = 'granted', '', ''
    if r.id then
      replaced = live(r) and 'taken-over' or 'expired'
      ended = finish(r, replaced)
    end
    local last = r.token
    if not last then
      verb, last = 'created', match(floorOf(r.index) or '', '%d+') or 0
      call('DEL', r.line)
    end
    r.id, r.token = id, digits(math.max(last + 1, now))
    r.acquired, r.since, r.span = clock, clock, ttl
    r.channel, r.about = match(about, '^(%S+) (.+)$')
    local lease = hold(r)
    keep(r)
    if r.waits then
      leave(r, id)
      r.reserved = nil
      markLine(r)
    end
    return { verb, lease, replaced, ended }
  end

  local function stand(r, id, channel, wait)
    if wait then
      if not call('ZRANK', r.line, id) then
        call('ZADD', r.line, call('HINCRBY', r.row, 'seq', 1), id)
        if not r.waits then
          r.waits = true
          markLine(r)
        end
      end
      call('HSET', r.row, 'w:' .. id, channel)
    end
    local free = live(r) and expires(r) - now or r.reserved and r.ends - now or 0
    if r.waits then call('PEXPIREAT', r.line, digits((now + free + 2 * HOUR) / 1000)) end
    local place = call('ZRANK', r.line, id)
    return { 'refused', live(r) and packed(r) or '', place and digits(place) or '', digits(free) }
  end

  local function extend(r, ttl)
    local ends = math.max(expires(r), now + ttl)
    r.since, r.span = clock, digits(ends - now)
    return hold(r)
  end

  local slow = {}

  function slow.acquire(row, line, index, id, ttl, about, mode)
    local r = load(row, line, index)
    stepBack(r)
    settle(r, id)
    local held = live(r)
    if held and r.id == id then
      local lease = extend(r, ttl)
      keep(r)
      return { 'granted', lease, '', '' }
    end
    if held and r.token == match(mode, '%d+') or not held and (not r.reserved or r.reserved == id) then
      return grant(r, id, ttl, about)
    end
    return stand(r, id, match(about, '^%S+'), sub(mode, 1, 4) == 'wait')
  end

  function slow.renew(row, line, id, ttl)
    local r = load(row, line)
    settle(r)
    if not live(r) then return { 'refused', '' } end
    if r.id ~= id then return { 'refused', packed(r) } end
    if now < tonumber(r.since) then r.since = clock end
    local lease = extend(r, ttl)
    call('PEXPIREAT', row, digits((math.max(expires(r), r.token) + 2 * HOUR) / 1000))
    return { 'renewed', lease }
  end

  local function giveUp(r, owns, by, me)
    local state, ended = '', ''
    if owns then
      state = live(r) and 'released' or 'expired'
      ended = finish(r, state, by)
    end
    settle(r, me)
    return { state, ended, live(r) and packed(r) or '' }
  end

  function slow.release(row, line, id, channel)
    local r = load(row, line)
    settle(r, id)
    if r.waits then
      leave(r, id)
      markLine(r)
    end
    return giveUp(r, r.id == id, channel, id)
  end

  function slow.force(row, line, token)
    local r = load(row, line)
    settle(r)
    return giveUp(r, r.id and r.token == token)
  end

  function slow.expire(row, line, index, due, hand)
    local r = load(row, line, index)
    local name = sub(row, #index + 2)
    if r.due ~= due then
      call('ZREM', index, 'due:' .. due .. ' ' .. name)
      if not r.token then call('ZREM', index, 'name:' .. name) end
      return ''
    end
    stepBack(r)
    local expired = ''
    if r.id and not live(r) then
      if hand ~= 'hand' then return '' end
      expired = finish(r, 'expired')
    end
    settle(r)
    if r.id then
      lookAt(r, expires(r))
    elseif r.waits then
      lookAt(r, r.ends)
    else
      local floor = floorOf(index)
      if not floor or tonumber(sub(floor, 7)) < tonumber(r.token) then
        if floor then call('ZREM', index, floor) end
        call('ZADD', index, 0, 'floor:' .. r.token)
      end
      call('DEL', row)
      call('ZREM', index, 'name:' .. name, 'due:' .. due .. ' ' .. name)
    end
    return expired
  end

  return slow
end
`
