import { QUEUE } from './script-queue.ts'
import { ROWS } from './script-row.ts'

/**
 * `lease-row.ts` in Lua: everything that is not the short path, because somebody waits, or because a row is new,
 * shared, taken over, renewed or swept. A row is loaded, changed and saved. Its functions are created only when they
 * are needed, because that would cost the short path a tenth of its time. Messages to watchers: `<state> <lease>`, or
 * `kept <time> <lease>`.
 */
export const TRANSITIONS = `
local function createTransitions()
${ROWS}
${QUEUE}
  local function resourceOf(keys) return sub(keys.row, #keys.index + 2) end

  -- Moves the row's entry in the index.
  local function setDue(row, due)
    local resource = resourceOf(row.keys)
    if row.due then call('ZREM', row.keys.index, 'due:' .. row.due .. ' ' .. resource) end
    row.due = digits(due)
    call('ZADD', row.keys.index, 0, 'name:' .. resource, 0, 'due:' .. row.due .. ' ' .. resource)
  end

  -- An entry long before the end of a lease is moved, unless other leases may end before.
  local function keepDue(row, lease)
    local ends = expiry(lease)
    local isEarly = row.due and row.held.count == 1 and row.due + KEEP_FREE < ends
    if not row.due or tonumber(row.due) > ends or isEarly then setDue(row, ends) end
  end

  local function tellWatchers(row, state, lease)
    if row.isWatched then call('PUBLISH', PREFIX .. ':changes', state .. ' ' .. packLease(lease)) end
  end

  -- by: the channel of the process that ends the lease. It need not be told. isForced: it does not keep the resource.
  local function endLease(row, lease, state, by, isForced)
    local ended = packLease(lease)
    tellWatchers(row, state, lease)
    if lease.channel ~= by then send(lease.channel, 'lost ' .. lease.token .. ' ' .. lease.id) end
    remove(row, lease.id)
    local kept = keptAtMost(lease, state == 'released' and keptByAtLeast(lease) or keptUntil(lease))
    if not isForced and now < kept then
      lease.kept = kept
      add(row, 'kept ' .. lease.token, lease)
      tellWatchers(row, 'kept ' .. clock, lease)
    end
    return ended
  end

  -- Returns what was ended, oldest first.
  local function endLapsed(row, limit)
    local ended = {}
    if row.lapsed > 0 then
      for n, lease in ipairs(leasesOf(row, hasLapsed)) do
        if n <= limit then ended[n] = endLease(row, lease, 'expired') end
      end
    end
    return ended
  end

  local function extend(row, lease, span)
    local ends = math.max(expiry(lease), now + span)
    lease.since, lease.span = clock, digits(ends - now)
    put(row, lease.id, lease)
    tellWatchers(row, 'held', lease)
  end

  -- In any order: the caller sorts them.
  local function holders(row)
    local found = { '' }
    if row.held.count > 0 then
      findAll(row)
      for _, entry in pairs(row.entries) do
        if entry and entry.token and isLive(entry) then found[#found + 1] = packLease(entry) end
      end
    end
    return table.concat(found, '\\n')
  end

  -- replace: a token, 'any', or empty.
  local function isReplacing(row, replace)
    if replace == '' or replace == 'any' then return replace == 'any' end
    if row.held.count ~= 1 then return false end
    return #leasesOf(row, function(lease) return lease.token == replace and isLive(lease) end) == 1
  end

  local function removeAll(row)
    findAll(row)
    for field, entry in pairs(row.entries) do
      if entry then remove(row, field) end
    end
  end

  local function floorOf(index)
    return call('ZRANGEBYLEX', index, '[floor:', '(floor;', 'LIMIT', 0, 1)[1]
  end

  local function grant(row, lease, share, terms, replace)
    local ended = endLapsed(row, NEVER)
    local state = 'expired'
    local isTakeover = isReplacing(row, replace)
    if isTakeover then
      for _, taken in ipairs(leasesOf(row, isLive)) do
        state = 'taken-over'
        ended[#ended + 1] = endLease(row, taken, state, nil, true)
      end
      for _, kept in ipairs(leasesOf(row, hasEnded)) do tellWatchers(row, 'taken-over', kept) end
      -- Reservations may not fit beside the new lease. Those that do are made again below.
      removeAll(row)
    end
    local verb, last = 'granted', row.token
    if not last then
      verb, last = 'created', match(floorOf(row.keys.index) or '', '%d+') or 0
      call('DEL', row.keys.queue)
    end
    row.token = digits(math.max(last + 1, now))
    local new = { token = row.token, acquired = clock, since = clock, kept = 0 }
    new.span, new.channel, new.id, new.about = match(lease, '^(%d+) (%S+) (%S+) (.+)$')
    local atLeast, lockDelay = match(terms, ' (%d+) (%d+)$')
    new.share = share
    new.atLeast, new.lockDelay = tonumber(atLeast), tonumber(lockDelay)
    if row.waits then removeWaiter(row, new.id) end
    add(row, new.id, new)
    keepDue(row, new)
    tellWatchers(row, 'held', new)
    if isTakeover then settle(row, new.id) end
    return verb .. '\\n' .. packLease(new) .. (#ended > 0 and '\\n' .. state .. '\\n' .. ended[#ended] or '')
  end

  -- As askAgainIn of lease-row.ts.
  local function askAgainAt(ends, share, place, reserved)
    local last = ends[#ends] or now
    if share == '' then return last + place * RESERVATION end
    local ahead = math.max(0, place - reserved)
    return ends[ahead + 1] or last + math.max(0, ahead - math.max(0, #ends - 1)) * RESERVATION
  end

  -- waiter: empty if the caller does not wait.
  local function refuse(row, id, channel, share, waiter)
    if waiter ~= '' then enqueue(row, id, channel, waiter) end
    local held, ends, kept = holders(row), {}, now
    findAll(row)
    for _, entry in pairs(row.entries) do
      local time = entry and (entry.reservedUntil or keptUntil(entry)) or 0
      if now < time then
        ends[#ends + 1] = time
        if entry.token and not isLive(entry) then kept = math.max(kept, time) end
      end
    end
    table.sort(ends)
    local last = ends[#ends] or now
    if row.waits then call('PEXPIREAT', row.keys.queue, digits((last + 2 * KEEP_FREE) / 1000)) end
    local rank = call('ZRANK', row.keys.queue, id)
    local place = rank and digits(rank / 2) or ''
    local askAt = askAgainAt(ends, share, rank and rank / 2 or 0, row.reserved.count)
    return table.concat({ 'refused', place, digits(askAt - now), digits(kept - now) }, '\\n') .. held
  end

  local transitions = {}

  -- terms: what packTerms returned.
  function transitions.share(keys, lease, waiter, replace, terms)
    local row = load(keys)
    local span, channel, id = match(lease, '^(%S+) (%S+) (%S+) ')
    local share = match(terms, '^%d*')
    settle(row, id)
    local own, reservation, answer = find(row, id), find(row, 'for ' .. id), nil
    -- Of a row that is not shared, a reservation may be that of a version that knows no shares.
    if reservation and row.isShared then share = reservation.share end
    if own and isLive(own) then
      extend(row, own, span)
      keepDue(row, own)
      answer = 'granted\\n' .. packLease(own)
    elseif isReplacing(row, replace) or (reservation or not row.waits) and fitsLeases(row, share) then
      answer = grant(row, lease, share, terms, replace)
    else
      answer = refuse(row, id, channel, share, waiter)
    end
    save(row)
    return answer
  end

  -- Whether a request that does not wait would be granted.
  function transitions.fits(keys, lease, terms)
    local row = load(keys)
    local own = find(row, match(lease, '^%S+ %S+ (%S+) '))
    return own and isLive(own) or not row.waits and fitsLeases(row, match(terms, '^%d*'))
  end

  function transitions.acquire(keys, lease, waiter, replace)
    return transitions.share(keys, lease, waiter, replace, ' 0 0')
  end

  function transitions.renew(keys, id, span)
    local row = load(keys)
    settle(row)
    local own, answer = find(row, id), nil
    if own and isLive(own) then
      extend(row, own, span)
      answer = 'renewed\\n' .. packLease(own)
    else
      answer = 'refused' .. holders(row)
    end
    save(row)
    return answer
  end

  local NOTHING = '\\n'

  -- Ends the lease, if there is one. Returns how, and the lease.
  local function endBy(row, lease, by, isForced)
    if not lease then return NOTHING end
    local state = isLive(lease) and 'released' or 'expired'
    return state .. '\\n' .. endLease(row, lease, state, by, isForced)
  end

  -- Only a caller that ended nothing is told who holds the resource: reading a thousand leases takes longer than a release.
  local function finishRelease(row, ended, me, lease, isNext)
    settle(row, me, row.waits and (isNext or lease and lease.kept > 0))
    save(row)
    return ended == NOTHING and ended .. holders(row) or ended
  end

  function transitions.release(keys, who)
    local row = load(keys)
    local channel, id = match(who, '^(%S+) (%S+)$')
    settle(row, id)
    local lease = find(row, id)
    local ended = endBy(row, lease, channel)
    local isNext = row.waits and isFirstWithoutTurn(row, id)
    if row.waits then removeWaiter(row, id) end
    return finishRelease(row, ended, id, lease, isNext)
  end

  -- A process releases the lease that it knows. Usually the short path does that.
  transitions['end'] = transitions.release

  function transitions.force(keys, token)
    local row = load(keys)
    settle(row)
    local found = leasesOf(row, function(lease) return lease.token == token end)[1]
    if not found or not hasEnded(found) then return finishRelease(row, endBy(row, found, nil, true)) end
    local ended = 'released\\n' .. packLease(found)
    tellWatchers(row, 'released', found)
    remove(row, 'kept ' .. token)
    return finishRelease(row, ended)
  end

  local function deleteRow(row)
    local index, floor, resource = row.keys.index, floorOf(row.keys.index), resourceOf(row.keys)
    if not floor or tonumber(match(floor, '%d+')) < tonumber(row.token) then
      if floor then call('ZREM', index, floor) end
      call('ZADD', index, 0, 'floor:' .. row.token)
    end
    call('DEL', row.keys.row, row.keys.shared)
    call('ZREM', index, 'name:' .. resource, 'due:' .. row.due .. ' ' .. resource)
  end

  -- Brings a row up to date that is due. Only a sweep ends expired leases, at most 'limit', because it returns them to
  -- its caller.
  function transitions.expire(keys, due, limit)
    local row = load(keys)
    if row.due ~= due then
      local resource = resourceOf(keys)
      call('ZREM', keys.index, 'due:' .. due .. ' ' .. resource)
      if not row.token then call('ZREM', keys.index, 'name:' .. resource) end
      return ''
    end
    local ended = endLapsed(row, tonumber(limit))
    -- The row stays due.
    if row.lapsed > 0 and #ended == 0 then return '' end
    settle(row)
    if row.held.count > 0 or row.waits or row.lapsed > 0 then
      if row.lapsed == 0 then setDue(row, row.changesAt) end
      save(row)
    else
      deleteRow(row)
    end
    return table.concat(ended, '\\n')
  end

  return transitions
end
`
