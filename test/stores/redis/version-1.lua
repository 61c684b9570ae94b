
local call, match, sub = redis.call, string.match, string.sub
local KEEP_FREE = 3600000000
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
-- The same as text, with all six digits of the microseconds. string.format would take longer.
local clock = time[1] .. sub('00000' .. time[2], -6)

local op, key, watched, first = ARGV[1], KEYS[1], KEYS[2], ARGV[2]

if op == 'acquire' then
  local found = call('MGET', key, watched)
  local token, due = match(found[1] or '', '^F (%d+) (%d+)$')
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
  local free, times, since, span, who = match(found[1] or '', '^(F %d+ %d+) %d+ ((%d+) (%d+)) (%S+ %S+) ')
  if who == first then
    local state = now < since + span and 'released' or 'expired'
    call('SET', key, free, 'KEEPTTL')
    if found[2] then call('PUBLISH', PREFIX .. ':changes', state .. ' ' .. found[1]) end
    return clock .. ' ' .. state .. '\n' .. times
  end
end


-- In a cluster (the channel begins with an asterisk) a process may listen on another node.
local function mayListenElsewhere(channel) return sub(channel, 1, 1) == '*' end


local function createTransitions()
  local RESERVATION_MS = 1000
  local RESERVATION = RESERVATION_MS * 1000
  local NOT_A_LEASE = 'the value is not a lease'

  local function digits(number) return string.format('%.0f', number) end

  local function load(keys)
    local found = call('MGET', keys.row, keys.watched)
    local row = { keys = keys, isWatched = found[2] }
    if found[1] then
      local waits, lease
      waits, row.token, row.due, lease = match(found[1], '^(%S+) (%d+) (%d+)(.*)$')
      row.reservedUntil, row.reservedFor = match(waits or '', '^W(%d+):(.*)$')
      row.waits = row.reservedUntil ~= nil
      if row.reservedFor == '' then row.reservedFor = nil end
      row.acquired, row.since, row.span, row.channel, row.id, row.about = match(lease or '', '^ (%d+) (%d+) (%d+) (%S+) (%S+) (.+)$')
      if not row.token or (waits ~= 'F' and not row.waits) or (lease ~= '' and not row.id) then
        error(NOT_A_LEASE, 0)
      end
    elseif call('EXISTS', keys.row) == 1 then
      error(NOT_A_LEASE, 0)
    end
    return row
  end

  local function pack(row)
    local waits = 'F'
    if row.waits then
      waits = 'W' .. (row.reservedFor and row.reservedUntil or '0') .. ':' .. (row.reservedFor or '')
    end
    local free = waits .. ' ' .. row.token .. ' ' .. row.due
    if not row.id then return free end
    return table.concat({ free, row.acquired, row.since, row.span, row.channel, row.id, row.about }, ' ')
  end

  local function expiry(row) return row.since + row.span end
  local function isLive(row) return row.id and now < expiry(row) end
  local function packLive(row) return isLive(row) and pack(row) or '' end
  local function resourceOf(keys) return sub(keys.row, #keys.index + 2) end

  -- Moves the row's entry in the index.
  local function setDue(row, due)
    local resource = resourceOf(row.keys)
    if row.due then call('ZREM', row.keys.index, 'due:' .. row.due .. ' ' .. resource) end
    row.due = digits(due)
    call('ZADD', row.keys.index, 0, 'name:' .. resource, 0, 'due:' .. row.due .. ' ' .. resource)
  end

  local function save(row)
    if not row.token then return end
    call('SET', row.keys.row, pack(row), 'KEEPTTL')
    if row.id then
      local keptUntil = math.max(expiry(row), row.token) + 2 * KEEP_FREE
      call('PEXPIREAT', row.keys.row, digits(keptUntil / 1000))
    end
  end

  local function tellWatchers(row, state)
    if row.isWatched then call('PUBLISH', PREFIX .. ':changes', state .. ' ' .. pack(row)) end
  end

  -- Returns how many listen.
  local function send(channel, message) return call('PUBLISH', PREFIX .. ':wake:' .. channel, message) end

  -- by: the channel of the process that ends the lease. It need not be told.
  local function endLease(row, state, by)
    local ended = pack(row)
    tellWatchers(row, state)
    if row.channel ~= by then send(row.channel, 'lost ' .. row.token .. ' ' .. row.id) end
    row.id = nil
    return state .. '\n' .. ended
  end

  local function waiters(row, first, last)
    local found, list = call('ZRANGE', row.keys.queue, 2 * first, 2 * last + 1), {}
    for n = 1, #found, 2 do
      list[#list + 1] = { id = found[n], channel = match(found[n + 1], '^%S+ (%S+)') }
    end
    return list
  end

  local function channelOf(row, id)
    local rank = call('ZRANK', row.keys.queue, id)
    return rank and waiters(row, rank / 2, rank / 2)[1].channel
  end

  local function removeWaiter(row, id)
    local score = call('ZSCORE', row.keys.queue, id)
    if score then call('ZREMRANGEBYSCORE', row.keys.queue, score, score) end
    if row.reservedFor == id then row.reservedFor = nil end
  end

  -- Removes all waiters of a process that did not answer. If it is alive, they join the queue again at its end.
  local function dismissProcess(row, channel, me)
    for _, waiter in ipairs(waiters(row, 0, -1)) do
      if waiter.channel == channel then
        removeWaiter(row, waiter.id)
        if waiter.id ~= me then send(channel, 'wake 0 ' .. waiter.id) end
      end
    end
  end

  -- Tells the next waiter, if possible one of another process, to ask when the reservation ends.
  local function wakeStandby(row, channel, me)
    local behind = waiters(row, 1, 16)
    local standby = behind[1]
    for _, waiter in ipairs(behind) do
      if waiter.channel ~= channel then standby = waiter break end
    end
    if standby and standby.id ~= me then send(standby.channel, 'wake ' .. RESERVATION_MS .. ' ' .. standby.id) end
  end

  -- Ends a reservation that was not used in time, and reserves a free resource for the first waiter that is alive.
  local function settle(row, me)
    if row.reservedFor then
      row.reservedUntil = digits(math.min(row.reservedUntil, now + RESERVATION))
      if tonumber(row.reservedUntil) <= now then
        dismissProcess(row, channelOf(row, row.reservedFor), me)
        row.reservedFor = nil
      end
    end
    while row.waits and not row.reservedFor and not isLive(row) do
      local head = waiters(row, 0, 0)[1]
      if not head then
        row.waits = false
      elseif head.id == me or send(head.channel, 'wake 0 ' .. head.id) > 0 or mayListenElsewhere(head.channel) then
        row.reservedFor, row.reservedUntil = head.id, digits(now + RESERVATION)
        wakeStandby(row, head.channel, me)
      else
        dismissProcess(row, head.channel, me)
      end
    end
  end

  -- After the clock stepped back, a lease has its span left and no more.
  local function followClock(row)
    if row.id and now < tonumber(row.since) then row.since = clock end
  end

  local function extend(row, span)
    local ends = math.max(expiry(row), now + span)
    row.since, row.span = clock, digits(ends - now)
  end

  local function keepDue(row)
    local ends = expiry(row)
    if not row.due or tonumber(row.due) > ends or row.due + KEEP_FREE < ends then setDue(row, ends) end
  end

  local function floorOf(index)
    return call('ZRANGEBYLEX', index, '[floor:', '(floor;', 'LIMIT', 0, 1)[1]
  end

  local function grant(row, lease)
    local replaced = row.id and '\n' .. endLease(row, isLive(row) and 'taken-over' or 'expired') or ''
    local verb, last = 'granted', row.token
    if not last then
      verb, last = 'created', match(floorOf(row.keys.index) or '', '%d+') or 0
      call('DEL', row.keys.queue)
    end
    row.token = digits(math.max(last + 1, now))
    row.acquired, row.since = clock, clock
    row.span, row.channel, row.id, row.about = match(lease, '^(%d+) (%S+) (%S+) (.+)$')
    if row.waits then removeWaiter(row, row.id) end
    row.reservedFor = nil
    return verb, replaced
  end

  local function enqueue(row, id, channel, owner)
    local queue = row.keys.queue
    local score = call('ZSCORE', queue, id)
    if score then call('ZREMRANGEBYSCORE', queue, score, score)
    else score = (call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')[2] or 0) + 1 end
    call('ZADD', queue, score, id, score, id .. ' ' .. channel .. ' ' .. owner)
    row.waits = true
  end

  -- owner: empty if the caller does not wait.
  local function refuse(row, id, channel, owner)
    if owner ~= '' then enqueue(row, id, channel, owner) end
    local freeIn = isLive(row) and expiry(row) - now or row.reservedFor and row.reservedUntil - now or 0
    if row.waits then call('PEXPIREAT', row.keys.queue, digits((now + freeIn + 2 * KEEP_FREE) / 1000)) end
    local rank = call('ZRANK', row.keys.queue, id)
    return 'refused', '\n' .. (rank and digits(rank / 2) or '') .. '\n' .. digits(freeIn)
  end

  local transitions = {}

  function transitions.acquire(keys, lease, owner, replace)
    local row = load(keys)
    local span, channel, id = match(lease, '^(%S+) (%S+) (%S+) ')
    followClock(row)
    settle(row, id)
    local isHeld, verb, more = isLive(row), 'granted', ''
    if isHeld and row.id == id then
      extend(row, span)
    elseif isHeld and row.token == replace or not isHeld and (not row.reservedFor or row.reservedFor == id) then
      verb, more = grant(row, lease)
    else
      verb, more = refuse(row, id, channel, owner)
    end
    if row.id then keepDue(row) end
    if verb ~= 'refused' then tellWatchers(row, 'held') end
    save(row)
    return verb .. '\n' .. packLive(row) .. more
  end

  function transitions.renew(keys, id, span)
    local row = load(keys)
    followClock(row)
    settle(row)
    local isMine = isLive(row) and row.id == id
    if isMine then
      extend(row, span)
      tellWatchers(row, 'held')
    end
    save(row)
    return (isMine and 'renewed\n' or 'refused\n') .. packLive(row)
  end

  local function finishRelease(row, endsLease, by, me)
    local ended = endsLease and endLease(row, isLive(row) and 'released' or 'expired', by) or '\n'
    settle(row, me)
    save(row)
    return ended .. '\n' .. packLive(row)
  end

  function transitions.release(keys, who)
    local row = load(keys)
    local channel, id = match(who, '^(%S+) (%S+)$')
    settle(row, id)
    if row.waits then removeWaiter(row, id) end
    return finishRelease(row, row.id == id, channel, id)
  end

  -- A process releases the lease that it knows. Usually the short path does that.
  transitions['end'] = transitions.release

  function transitions.force(keys, token)
    local row = load(keys)
    settle(row)
    return finishRelease(row, row.id and row.token == token)
  end

  local function deleteRow(row)
    local index, floor, resource = row.keys.index, floorOf(row.keys.index), resourceOf(row.keys)
    if not floor or tonumber(match(floor, '%d+')) < tonumber(row.token) then
      if floor then call('ZREM', index, floor) end
      call('ZADD', index, 0, 'floor:' .. row.token)
    end
    call('DEL', row.keys.row)
    call('ZREM', index, 'name:' .. resource, 'due:' .. row.due .. ' ' .. resource)
  end

  -- Brings a row up to date that is due. Only a sweep ends an expired lease, because it returns that to its caller.
  function transitions.expire(keys, due, purpose)
    local row = load(keys)
    if row.due ~= due then
      local resource = resourceOf(keys)
      call('ZREM', keys.index, 'due:' .. due .. ' ' .. resource)
      if not row.token then call('ZREM', keys.index, 'name:' .. resource) end
      return ''
    end
    followClock(row)
    local hasExpired, ended = row.id and not isLive(row), ''
    if hasExpired and purpose ~= 'sweep' then return '' end
    if hasExpired then ended = endLease(row, 'expired') end
    settle(row)
    if row.id or row.waits then
      setDue(row, row.id and expiry(row) or row.reservedUntil)
      save(row)
    else
      deleteRow(row)
    end
    return ended
  end

  return transitions
end


local ARG_COUNT = {
  acquire = 4, release = 2, ['end'] = 2, force = 2, renew = 3, expire = 3, read = 1, names = 4, due = 2, watch = 2,
  waiting = 2,
}
local nextKey, nextArg, transitions = 1, 1, nil

-- Operations on one key. The others take the four keys of a resource.
local SIMPLE = {
  read = function(key) return clock .. ' ' .. (call('GET', key) or '') end,
  names = function(key, from, prefix, limit)
    local first, last = sub(from, 1, 1) .. 'name:' .. sub(from, 2), '[name:' .. prefix .. '\255'
    return call('ZRANGEBYLEX', key, first, last, 'LIMIT', 0, limit)
  end,
  due = function(key, limit)
    return call('ZRANGEBYLEX', key, '[due:', '(due:' .. string.format('%.0f', now + 1), 'LIMIT', 0, limit)
  end,
  -- How many wait, and the first of them. Those of dead processes are left out.
  waiting = function(key, limit)
    local found, listens = call('ZRANGE', key, 0, 1999), {}
    local first, dead = {}, 0
    for n = 2, #found, 2 do
      local channel = match(found[n], '^%S+ (%S+)') or ''
      if listens[channel] == nil then
        -- An error means that this user may not ask.
        local count = redis.pcall('PUBSUB', 'NUMSUB', PREFIX .. ':wake:' .. channel)[2] or 1
        listens[channel] = count > 0 or mayListenElsewhere(channel)
      end
      if not listens[channel] then dead = dead + 1
      elseif #first < tonumber(limit) then first[#first + 1] = found[n] end
    end
    return { call('ZCARD', key) / 2 - dead, unpack(first) }
  end,
  watch = function(key, ms)
    local isKnown = call('EXISTS', key) == 1
    call('SET', key, '', 'PX', ms)
    return clock .. (isKnown and ' known' or ' new')
  end,
}

local function step()
  local k, a = nextKey, nextArg
  local op, first, second, third = ARGV[a], ARGV[a + 1], ARGV[a + 2], ARGV[a + 3]
  local simple = SIMPLE[op]
  nextKey, nextArg = k + (simple and 1 or 4), a + ARG_COUNT[op]
  if simple then return simple(KEYS[k], first, second, third) end
  local key, watched = KEYS[k], KEYS[k + 1]
  
  transitions = transitions or createTransitions()
  local keys = { row = key, watched = watched, queue = KEYS[k + 2], index = KEYS[k + 3] }
  return clock .. ' ' .. transitions[op](keys, first, second, third)
end

return step()
