import { encodeShare } from '../../base/share.ts'
import { RESERVATION_MS } from '../options.ts'
import { FREE_ROW, LEASE, LEASE_KIND, SHARED } from './rows.ts'

/**
 * One resource in Lua: what it has, and how it is loaded and saved. Its entries are the leases and reservations, by the
 * names that they have in the hash of a shared row. Those of another row are in the row itself, and all of them are
 * loaded with it. Those of a shared row are loaded when they are needed: the row has the numbers that tell whether a
 * request fits, so that a grant and a renewal cost the same with one lease and with thousands.
 *
 * All numbers of a row are right for `now`. When they may have changed since the row was saved, all entries are loaded
 * and counted again. A renewal does not do that: it only moves the end of a lease, and the time of the next count
 * may be too early.
 */
export const ROWS = `
  local NEVER = ${encodeShare(Infinity)}
  local RESERVATION = ${RESERVATION_MS * 1000}
  local NOT_A_LEASE = 'the value is not a lease'

  local function digits(number) return string.format('%.0f', number) end

  local function expiry(lease) return lease.since + lease.span end
  local function isLive(lease) return lease.kept == 0 and now < expiry(lease) end
  local function hasEnded(lease) return lease.kept > 0 end
  local function hasLapsed(lease) return lease.kept == 0 and now >= expiry(lease) end
  local function keptByAtLeast(lease) return lease.atLeast > 0 and lease.acquired + lease.atLeast or 0 end

  -- Until when the lease takes room, also after its end.
  local function keptUntil(lease)
    if lease.kept > 0 then return lease.kept end
    return math.max(expiry(lease) + lease.lockDelay, keptByAtLeast(lease))
  end

  local function keptAtMost(lease, time) return math.min(time, now + math.max(lease.atLeast, lease.lockDelay)) end

  -- How many leases or reservations there are, by how many each of them allows. An exclusive one allows one.
  local function newRoom() return { count = 0, limits = {} } end
  local function limitOf(share) return share == '' and '1' or share end

  local function take(room, limit, by)
    local left = (room.limits[limit] or 0) + by
    room.limits[limit] = left > 0 and left or nil
    room.count = room.count + by
  end

  local function limitIn(room)
    local least = NEVER
    for limit in pairs(room.limits) do least = math.min(least, tonumber(limit)) end
    return least
  end

  local function fitsLeases(row, share)
    return row.held.count < math.min(limitIn(row.held), tonumber(limitOf(share)))
  end

  local function fits(row, share)
    local limit = math.min(limitIn(row.held), limitIn(row.reserved), tonumber(limitOf(share)))
    return row.held.count + row.reserved.count < limit
  end

  local function count(row, entry, by)
    if entry.reservedUntil then
      take(row.reserved, limitOf(entry.share), by)
      return
    end
    if hasLapsed(entry) then row.lapsed = row.lapsed + by end
    if now < keptUntil(entry) then take(row.held, limitOf(entry.share), by) end
  end

  -- When the passing of time changes what the entry counts for.
  local function changesAt(entry)
    if entry.reservedUntil then return entry.reservedUntil end
    if isLive(entry) then return expiry(entry) end
    return now < keptUntil(entry) and keptUntil(entry) or NEVER
  end

  local function parseLease(text)
    local lease = {}
    local kind, due
    kind, lease.token, due, lease.acquired, lease.since, lease.span, lease.channel, lease.id, lease.about =
      match(text, '^${FREE_ROW} ${LEASE} (.+)$')
    if not kind then error(NOT_A_LEASE, 0) end
    local share, atLeast, lockDelay, kept = match(kind, '^${LEASE_KIND}$')
    lease.share, lease.atLeast, lease.lockDelay = share or '', tonumber(atLeast or 0), tonumber(lockDelay or 0)
    lease.kept, lease.text = tonumber(kept or 0), text
    return lease
  end

  local function parseEntry(field, text)
    if sub(field, 1, 4) ~= 'for ' then return parseLease(text) end
    local time, share = match(text, '^(%d+) (%d*)$')
    if not time then error(NOT_A_LEASE, 0) end
    return { reservedUntil = tonumber(time), share = share }
  end

  local function isPlain(lease)
    return lease.share == '' and lease.atLeast == 0 and lease.lockDelay == 0 and lease.kept == 0
  end

  -- A lease as watchers and callers get it, and as it is stored in the hash.
  local function packLease(lease)
    if lease.text then return lease.text end
    local kind = 'F'
    if not isPlain(lease) then
      kind = 'S' .. lease.share .. ':' .. digits(lease.atLeast) .. ':' .. digits(lease.lockDelay) .. ':' .. digits(lease.kept)
    end
    return table.concat(
      { kind, lease.token, 0, lease.acquired, lease.since, lease.span, lease.channel, lease.id, lease.about }, ' ')
  end

  local function packEntry(entry)
    if entry.reservedUntil then return digits(entry.reservedUntil) .. ' ' .. entry.share end
    return packLease(entry)
  end

  local function find(row, field)
    local entry = row.entries[field]
    if entry == nil and not row.isComplete then
      local text = call('HGET', row.keys.shared, field)
      entry = text and parseEntry(field, text)
      row.entries[field] = entry
    end
    return entry or nil
  end

  local function findAll(row)
    if row.isComplete then return end
    local found = call('HGETALL', row.keys.shared)
    for n = 1, #found, 2 do
      if row.entries[found[n]] == nil then row.entries[found[n]] = parseEntry(found[n], found[n + 1]) end
    end
    row.isComplete = true
  end

  -- Leases, oldest first.
  local function leasesOf(row, isMeant)
    findAll(row)
    local found = {}
    for _, entry in pairs(row.entries) do
      if entry and entry.token and isMeant(entry) then found[#found + 1] = entry end
    end
    table.sort(found, function(one, other) return tonumber(one.token) < tonumber(other.token) end)
    return found
  end

  local function put(row, field, entry)
    row.entries[field], row.changed[field] = entry, true
    if entry and entry.token then
      entry.text = nil
      row.ends = math.max(row.ends, keptUntil(entry))
    end
  end

  local function add(row, field, entry)
    put(row, field, entry)
    count(row, entry, 1)
    row.changesAt = math.min(row.changesAt, changesAt(entry))
  end

  local function remove(row, field)
    local entry = find(row, field)
    if entry then
      count(row, entry, -1)
      put(row, field, false)
    end
    return entry
  end

  -- After the clock stepped back, a lease has its span left and no more, and keeps the resource no longer than it may.
  local function followClock(entry)
    if entry.reservedUntil then
      entry.reservedUntil = math.min(entry.reservedUntil, now + RESERVATION)
      return
    end
    if now < tonumber(entry.since) then entry.since = clock end
    if entry.atLeast > 0 and now < tonumber(entry.acquired) then entry.acquired = clock end
    if entry.kept > 0 then entry.kept = keptAtMost(entry, entry.kept) end
  end

  local function recount(row)
    findAll(row)
    row.held, row.reserved, row.lapsed, row.changesAt = newRoom(), newRoom(), 0, NEVER
    for field, entry in pairs(row.entries) do
      if entry then
        if now < row.savedAt then
          followClock(entry)
          put(row, field, entry)
        end
        if entry.token and entry.kept > 0 and now >= entry.kept then
          put(row, field, false)
        else
          count(row, entry, 1)
          row.changesAt = math.min(row.changesAt, changesAt(entry))
        end
      end
    end
  end

  local function parseRoom(text)
    local room = newRoom()
    for limit, number in string.gmatch(text, '(%d+)x(%d+),') do take(room, limit, tonumber(number)) end
    return room
  end

  local function packRoom(room)
    local text = ''
    for limit, number in pairs(room.limits) do text = text .. limit .. 'x' .. number .. ',' end
    return text
  end

  local function loadShared(row, rest)
    local lapsed, changes, saved, ends, held, reserved = match(rest, '^ ${SHARED}$')
    if not lapsed then error(NOT_A_LEASE, 0) end
    row.isShared, row.isComplete = true, false
    row.lapsed, row.held, row.reserved = tonumber(lapsed), parseRoom(held), parseRoom(reserved)
    row.changesAt, row.savedAt = tonumber(changes), tonumber(saved)
    row.ends, row.savedEnds = tonumber(ends), tonumber(ends)
    if now >= row.changesAt or now < row.savedAt then recount(row) end
  end

  local function loadPlain(row, kind, rest)
    if rest ~= '' then
      local lease = parseLease('F ' .. row.token .. ' 0' .. rest)
      row.entries[lease.id] = lease
    end
    local time, waiter = match(kind, '^W(%d+):(.*)$')
    if waiter and waiter ~= '' then
      row.entries['for ' .. waiter] = { reservedUntil = tonumber(time), share = '' }
    elseif not waiter and kind ~= 'F' then
      error(NOT_A_LEASE, 0)
    end
    row.waits = waiter ~= nil
  end

  local function load(keys)
    local found = call('MGET', keys.row, keys.watched)
    local row = { keys = keys, isWatched = found[2], entries = {}, changed = {}, isComplete = true }
    row.ends, row.savedEnds, row.savedAt = 0, 0, NEVER
    if found[1] then
      local kind, rest
      kind, row.token, row.due, rest = match(found[1], '^${FREE_ROW}(.*)$')
      row.waits = kind == 'SW'
      if kind == 'S' or kind == 'SW' then
        loadShared(row, rest)
        return row
      end
      loadPlain(row, kind or '', rest)
    elseif call('EXISTS', keys.row) == 1 then
      error(NOT_A_LEASE, 0)
    end
    recount(row)
    return row
  end

  -- Whether the row can be saved without the hash. A shared row is saved with it until it is empty.
  local function isSimple(row)
    if row.isShared then return row.held.count == 0 and row.reserved.count == 0 and row.lapsed == 0 end
    local leases = 0
    for _, entry in pairs(row.entries) do
      if entry and entry.token then leases = leases + 1 end
      if entry and (entry.share ~= '' or entry.token and not isPlain(entry)) then return false end
    end
    return leases <= 1 and row.reserved.count <= 1
  end

  local function packSimple(row)
    local kind, rest = row.waits and 'W0:' or 'F', ''
    for field, entry in pairs(row.entries) do
      if entry and entry.token then rest = match(packLease(entry), '^%S+ %S+ %S+(.+)$')
      elseif entry then kind = 'W' .. digits(entry.reservedUntil) .. ':' .. sub(field, 5) end
    end
    return kind .. ' ' .. row.token .. ' ' .. row.due .. rest
  end

  local function packShared(row)
    return table.concat({ row.waits and 'SW' or 'S', row.token, row.due, row.lapsed, digits(row.changesAt), clock,
      digits(row.ends), 'held:' .. packRoom(row.held), 'reserved:' .. packRoom(row.reserved) }, ' ')
  end

  local function saveEntries(row)
    local hash = row.keys.shared
    if not row.isShared then
      -- A hash of a row that Redis has deleted.
      call('DEL', hash)
      row.changed = row.entries
    end
    for field in pairs(row.changed) do
      local entry = row.entries[field]
      if entry then call('HSET', hash, field, packEntry(entry)) else call('HDEL', hash, field) end
    end
  end

  local function save(row)
    if not row.token then return end
    local simple = isSimple(row)
    if not simple then saveEntries(row) elseif row.isShared then call('DEL', row.keys.shared) end
    call('SET', row.keys.row, simple and packSimple(row) or packShared(row), 'KEEPTTL')
    if row.ends > row.savedEnds then
      local keptAs = digits((math.max(row.ends, row.token) + 2 * KEEP_FREE) / 1000)
      call('PEXPIREAT', row.keys.row, keptAs)
      if not simple then call('PEXPIREAT', row.keys.shared, keptAs) end
    end
  end
`
