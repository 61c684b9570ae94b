/**
 * The rules as Lua, one script for each operation. Times are whole milliseconds, rounded up. Every computed number is
 * printed with `%.0f`, because Lua itself prints only 14 digits. A script answers with texts in the order of
 * `ANSWER_FIELDS`, `false` for a missing one, or only with `false` if the job does not exist.
 */
import type { AnswerRow, Operation, TransactionOperation } from './request-jobs.ts'

export const ANSWER_FIELDS = [
  'answer',
  'token',
  'attempts',
  'expires',
  'remaining',
  'status',
  'result',
  'error',
] as const satisfies (keyof AnswerRow)[]

/** `ARGV[1]`: the names of the fields, and the statuses, as JSON. */
const JOB = `
local call, ceil, max = redis.call, math.ceil, math.max
local key, given = KEYS[1], cjson.decode(ARGV[1])
local fields, statuses = given.fields, given.statuses
local time = call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local exists = call('HLEN', key) > 0

local function get(field) return call('HGET', key, fields[field]) end
local function set(field, value) call('HSET', key, fields[field], value) end
local function text(number) return string.format('%.0f', number) end
-- nil for a missing value, and for one that is not a whole number that a double holds exactly.
local function whole(value)
  local number = tonumber(string.match(value or '', '^%d+$'))
  return number and number <= ${Number.MAX_SAFE_INTEGER} and number or nil
end

local status, owner, expiry = get('status'), get('lockOwner'), get('lockExpiresAt')
if owner == '' then owner = false end
local expiresAt, heartbeatAt = whole(expiry), whole(get('lockHeartbeatAt'))
local token, attempts = whole(get('lockToken')) or 0, whole(get('attempts')) or 0
local fingerprint, keptUntil = get('fingerprint'), whole(get('keptUntil'))
local finished = false
for _, final in ipairs(statuses.final) do finished = finished or status == final end

-- When the lock ends. If its expiry is unreadable, it lives for the requested TTL after the last heartbeat.
local function lockEnd(ttl)
  if not owner or not expiry then return 0 end
  return expiresAt or (heartbeatAt or now) + ttl
end
local function beat() set('lockHeartbeatAt', text(ceil(now))) end
-- Redis itself deletes a job whose result is no longer kept.
local function keep(untilMs)
  set('keptUntil', text(ceil(untilMs)))
  call('PEXPIREAT', key, text(ceil(untilMs)))
end
local function keepFor(from, ms)
  if ms ~= '' then return keep(from + ms) end
  call('HDEL', key, fields.keptUntil)
  call('PERSIST', key)
end
local function extend(ends, ttl)
  local extended = text(ceil(max(ends, now + ttl)))
  set('lockExpiresAt', extended)
  -- Not while it is locked.
  if keptUntil then call('PEXPIREAT', key, text(max(keptUntil, extended))) end
  beat()
  return extended, string.format('%.17g', max(ends - now, ttl))
end
local function unlock()
  call('HDEL', key, fields.lockOwner, fields.lockExpiresAt, fields.lockHeartbeatAt)
end
local function finish(outcome, field, value)
  unlock()
  call('HDEL', key, fields.result, fields.error)
  set('status', statuses[outcome])
  set(field, value)
end
`

const EXISTING_JOB = `${JOB}
if not exists then return false end
`

/** `create`: before it decides, it may return, or make the job begin anew. `granted`: after a grant. */
const acquire = (create: string, granted: string) => `
local by, ttl, maxAttempts = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
${create}
if finished then
  return { 'already_finished', false, text(attempts), false, false, status, get('result'), get('error') }
end
local ends = lockEnd(ttl)
if ends > now and owner ~= by then
  -- The first request that sees an unreadable expiry records the time, so that the lock can end.
  if not expiresAt and not heartbeatAt then beat() end
  return { 'locked', false, false, false, string.format('%.17g', ends - now) }
end
if ends <= now then
  token = max(token + 1, time[1] * 1000000 + time[2])
  set('lockToken', text(token))
  if maxAttempts and attempts >= maxAttempts then
    finish('failed', 'error', 'gave up after ' .. text(attempts) .. ' attempts that did not finish')
    return { 'too_many_attempts' }
  end
  attempts = attempts + 1
  set('attempts', text(attempts))
  set('lockOwner', by)
end
local extended, remaining = extend(ends, ttl)
${granted}
return { 'granted', text(token), text(attempts), extended, remaining }
`

/** `ARGV[4]` to `ARGV[6]`: `ready` or `failed`, the result, the error. */
const finish = (kept: string) => `${EXISTING_JOB}
if token ~= tonumber(ARGV[3]) then return { 'lost' } end
-- Our own earlier call finished it: anybody else leaves another token, or leaves our lock in the record.
if finished then return { owner and 'lost' or 'done' } end
if owner ~= ARGV[2] or not expiresAt or expiresAt <= now then return { 'lost' } end
if ARGV[4] == 'failed' then finish('failed', 'error', ARGV[6]) else finish('ready', 'result', ARGV[5]) end
${kept}
return { 'done' }
`

/** `acquire-kept` adds the job itself, and Redis deletes jobs without a sweep. */
export type RedisOperation = Exclude<Operation, 'add-kept' | 'sweep' | 'completed' | TransactionOperation>

export const SCRIPTS: Readonly<Record<RedisOperation, string>> = {
  add: `${JOB}
if not exists then
  set('status', statuses.pending)
  set('attempts', '0')
end
return { 'added' }
`,

  acquire: `${EXISTING_JOB}${acquire('', '')}`,

  // `ARGV[5]` and `ARGV[6]`: the fingerprint, and for how many milliseconds the result is kept; empty: for ever.
  'acquire-kept': `${JOB}
if not exists then
  set('status', statuses.pending)
  set('attempts', '0')
end
${acquire(
  `
if keptUntil and keptUntil <= now and lockEnd(ttl) <= now then
  finished, owner, attempts, fingerprint = false, false, 0, false
  unlock()
  call('HDEL', key, fields.result, fields.error)
  set('status', statuses.pending)
end
if fingerprint and fingerprint ~= ARGV[5] then return { 'payload_mismatch' } end
keptUntil = nil
`,
  `
set('fingerprint', ARGV[5])
keepFor(extended, ARGV[6])
`,
)}`,

  refresh: `${EXISTING_JOB}
local ttl = tonumber(ARGV[3])
local ends = lockEnd(ttl)
if finished or owner ~= ARGV[2] or ends <= now then return { 'lost' } end
return { 'again', false, false, extend(ends, ttl) }
`,

  finish: finish(''),

  'finish-kept': finish('keepFor(now, ARGV[7])'),

  release: `${EXISTING_JOB}
if owner ~= ARGV[2] then return { 'lost' } end
unlock()
return { 'done' }
`,

  read: `${EXISTING_JOB}
return { finished and 'finished' or 'open', false, text(attempts), false, false, status, get('result'), get('error') }
`,
}
