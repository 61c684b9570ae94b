import { WAITER } from './layout.ts'

/**
 * The queue of a resource in Lua. The reservations are always those of its first waiters. Messages to one process:
 * `wake <milliseconds> <id>` and `lost <token> <id>`, on the channel of its store.
 */
export const QUEUE = `
  -- Returns how many listen.
  local function send(channel, message) return call('PUBLISH', PREFIX .. ':wake:' .. channel, message) end

  local function waiters(row, first, last)
    local found, list = call('ZRANGE', row.keys.queue, 2 * first, 2 * last + 1), {}
    for n = 1, #found, 2 do
      local channel, share = match(found[n + 1], '${WAITER}')
      list[#list + 1] = { id = found[n], channel = channel, share = share }
    end
    return list
  end

  local function enqueue(row, id, channel, waiter)
    local queue = row.keys.queue
    local score = call('ZSCORE', queue, id)
    if score then call('ZREMRANGEBYSCORE', queue, score, score)
    else score = (call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')[2] or 0) + 1 end
    call('ZADD', queue, score, id, score, id .. ' ' .. channel .. ' ' .. waiter)
    row.waits = true
  end

  local function channelOf(row, id)
    local rank = call('ZRANK', row.keys.queue, id)
    return rank and waiters(row, rank / 2, rank / 2)[1].channel
  end

  local function removeWaiter(row, id)
    local score = call('ZSCORE', row.keys.queue, id)
    if score then call('ZREMRANGEBYSCORE', row.keys.queue, score, score) end
    remove(row, 'for ' .. id)
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

  local function dismissLate(row, me)
    local late = {}
    for field, entry in pairs(row.entries) do
      if entry and entry.reservedUntil and entry.reservedUntil <= now then late[#late + 1] = sub(field, 5) end
    end
    for _, id in ipairs(late) do
      -- Without the reservation, it was a waiter of a process that is dismissed already.
      if find(row, 'for ' .. id) then
        local channel = channelOf(row, id)
        if channel then dismissProcess(row, channel, me) else remove(row, 'for ' .. id) end
      end
    end
  end

  -- Tells the first waiter without a reservation, if possible one of another process, to ask when the first
  -- reservation ends, or when a lease that has just ended keeps the resource no longer.
  local function wakeStandby(row, channel, me, freeAt)
    local standby
    for _, waiter in ipairs(waiters(row, row.reserved.count, row.reserved.count + 15)) do
      if waiter.id ~= me then
        standby = standby or waiter
        if waiter.channel ~= channel then standby = waiter break end
      end
    end
    if not standby then return end
    local first = find(row, 'for ' .. waiters(row, 0, 0)[1].id)
    local ends = math.min(freeAt, first and first.reservedUntil or NEVER)
    send(standby.channel, 'wake ' .. digits(math.ceil((ends - now) / 1000)) .. ' ' .. standby.id)
  end

  -- Ends reservations that were not used in time, and reserves the resource for the first waiters that are alive and
  -- fit together. freeAt: a lease has just ended and keeps the resource until then.
  local function settle(row, me, freeAt)
    if row.reserved.count > 0 and row.isComplete then dismissLate(row, me) end
    local called
    while row.waits and fits(row, NEVER) do
      local waiter = waiters(row, row.reserved.count, row.reserved.count)[1]
      if not waiter then row.waits = row.reserved.count > 0 end
      if not waiter or not fits(row, waiter.share) then break end
      if waiter.id == me or send(waiter.channel, 'wake 0 ' .. waiter.id) > 0 or mayListenElsewhere(waiter.channel) then
        add(row, 'for ' .. waiter.id, { reservedUntil = now + RESERVATION, share = waiter.share })
        called = waiter
      else
        dismissProcess(row, waiter.channel, me)
      end
    end
    if called or freeAt then wakeStandby(row, called and called.channel, me, freeAt or NEVER) end
  end
`
