import { STANDBY_SEARCH } from './options.ts'
import { WAITER } from './rows.ts'

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

  local function isFirstWithoutTurn(row, id)
    local first = waiters(row, row.reserved.count, row.reserved.count)[1]
    return first and first.id == id
  end

  -- Tells the first waiter without a reservation when it may have its turn at the earliest. Behind a new reservation,
  -- that of another process is told too: this process may be dead.
  local function wakeStandby(row, channel, me)
    local inMs = digits(math.max(1, math.ceil((row.changesAt - now) / 1000)))
    local function tell(waiter) send(waiter.channel, 'wake ' .. inMs .. ' ' .. waiter.id) end
    local next, other
    for _, waiter in ipairs(waiters(row, row.reserved.count, row.reserved.count + ${STANDBY_SEARCH - 1})) do
      if waiter.id ~= me then
        next = next or waiter
        if waiter.channel ~= channel then other = waiter break end
      end
    end
    -- An exclusive one needs the end of the reservation, which its own process would miss.
    if next and (not other or next.share ~= '' or next == other) then tell(next) end
    if other and other ~= next then tell(other) end
  end

  -- Ends reservations that were not used in time, and reserves the resource for the first waiters that are alive and
  -- fit together. tellsNext: the first waiter without a reservation is another one now, or may ask sooner.
  local function settle(row, me, tellsNext)
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
    if called or tellsNext then wakeStandby(row, called and called.channel, me) end
  end
`
