import { expectOptions, expectWhole } from '../base/arguments.ts'
import { expectPrefix, type RedisClient, redisDatabase } from '../clients/redis.ts'
import { redisError } from '../clients/redis-errors.ts'
import { malformedAnswer } from '../clients/store-error.ts'
import type { AuditEntry } from '../protocol/index.ts'
import { Calls } from '../stores/local/calls.ts'
import { type AuditLog, pageOf, parseEntry } from './audit.ts'
import { type Changed, type DocumentStore, removalOf, savedDocument, savingOf } from './documents.ts'
import {
  AUDIT_ENTRIES,
  KEEP_FENCE_MS,
  REDIS_KEYS_AT_ONCE,
  type RedisAuditOptions,
  type RedisPartsOptions,
} from './options.ts'
import type { SecretStore } from './secrets.ts'

const FENCE = `
local fence = redis.call('HGET', KEYS[1], 'fence')
if fence and tonumber(fence) >= tonumber(ARGV[1]) then return 0 end
redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'holder', ARGV[2])
if redis.call('HEXISTS', KEYS[1], 'content') == 0 then redis.call('PEXPIRE', KEYS[1], ${KEEP_FENCE_MS}) end
return 1
`

/** Replies with `saved` and the revision, or with what did not match and its value. */
const CHANGE = `
local key, change, token, holder, expected, sequence = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[6]
local found = redis.call('HMGET', key, 'fence', 'holder', 'saved_at', 'sequence', 'sequence_token')
local fence, savedAt = found[1], found[3]
if token ~= '' and (fence ~= token or found[2] ~= holder) then return { 'fence', fence or '' } end
local revision = redis.call('HEXISTS', key, 'content') == 1 and savedAt or '0'
local isLate = sequence ~= '' and found[5] == token and tonumber(sequence) <= tonumber(found[4])
if isLate and change == 'save' and sequence == found[4] and revision ~= '0' then return { 'saved', savedAt } end
if isLate and (change == 'save' or revision ~= '0') then return { 'sequence', found[4] } end
if expected ~= '' and expected ~= revision then return { 'revision', revision } end
if sequence ~= '' and not isLate then redis.call('HSET', key, 'sequence', sequence, 'sequence_token', token) end
if change == 'remove' then
  redis.call('HDEL', key, 'content', 'token')
  redis.call('PEXPIRE', key, ${KEEP_FENCE_MS})
  return { 'saved', revision }
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
savedAt = string.format('%.0f', math.max(now, (tonumber(savedAt) or 0) + 1))
redis.call('HSET', key, 'content', ARGV[5], 'token', token, 'saved_at', savedAt)
redis.call('PERSIST', key)
return { 'saved', savedAt }
`

const READ = `return redis.call('HMGET', KEYS[1], 'content', 'token', 'saved_at')`

/** A replica, and a server that cannot save, refuse to write. */
const CHECK = `return redis.call('SET', KEYS[1], '', 'PX', 1000)`

const KEEP_SECRET = `
redis.call('SET', KEYS[1], ARGV[1], 'NX')
return redis.call('GET', KEYS[1])
`

/**
 * Contents in Redis, one hash for each room. Each step is one script. It uses your client and leaves it open. What
 * Redis loses when it crashes is lost here too: see `appendfsync`.
 *
 * @example
 * const server = await createLockServer({ store: redisStore(client), documents: redisDocuments(client) })
 */
export function redisDocuments(client: RedisClient, options: RedisPartsOptions = {}): DocumentStore {
  const { run, list, prefix } = redisScripts(client, options)
  const keyOf = (room: string) => `${prefix}:content:${room}`

  async function change(room: string, args: readonly string[]): Promise<Changed> {
    const [outcome, value] = await list(CHANGE, keyOf(room), args)
    if (outcome === 'saved') return { savedAt: Number(value) }
    if (outcome === 'sequence') return { sequence: Number(value) }
    return outcome === 'fence' ? { fence: value ? Number(value) : null } : { revision: Number(value) }
  }

  return {
    async check() {
      await run(CHECK, `${prefix}:check`, [])
    },
    async fence(room, { token, holder }) {
      return Number(await run(FENCE, keyOf(room), [String(token), holder])) === 1
    },
    async read(room) {
      const [content, token, savedAt] = await list(READ, keyOf(room), [])
      return content == null ? null : savedDocument(room, content, { token, savedAt, revision: savedAt })
    },
    async save(room, { token, holder }, content, { revision, sequence } = {}) {
      const conditions = [String(token), holder, String(revision ?? '')]
      const args = ['save', ...conditions, JSON.stringify(content), String(sequence ?? '')]
      return savingOf(await change(room, args))
    },
    async remove(room, grant, { revision, sequence } = {}) {
      const conditions = [String(grant?.token ?? ''), grant?.holder ?? '', String(revision ?? '')]
      const args = ['remove', ...conditions, '', String(sequence ?? '')]
      return removalOf(await change(room, args), revision)
    },
  }
}

/**
 * Secrets that all nodes share. Everybody who may read the keys of Redis can read them.
 *
 * @example
 * const service = await createLockServer({ store, documents: redisDocuments(client), secrets: redisSecrets(client) })
 */
export function redisSecrets(client: RedisClient, options: RedisPartsOptions = {}): SecretStore {
  const { run, prefix } = redisScripts(client, options)
  return {
    async keep(name, secret) {
      const kept = await run(KEEP_SECRET, `${prefix}:secret:${name}`, [secret])
      if (typeof kept !== 'string') throw malformedAnswer('Redis', kept)
      return kept
    },
  }
}

/** The ids of the entries are their numbers, so `MAXLEN` must leave at least one. */
const APPEND_ENTRY = `
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
local number = last[1] and tonumber(string.match(last[1][1], '^%d+')) + 1 or 1
local id = string.format('%.0f-0', number)
redis.call('XADD', KEYS[1], 'MAXLEN', ARGV[3], id, 'resource', ARGV[1], 'entry', ARGV[2])
return 1
`

/** Reads a page of entries before a number. Replies with those of the resource, and the last number it saw. */
const READ_ENTRIES = `
local from = ARGV[1] == '' and '+' or '(' .. ARGV[1] .. '-0'
local found, last = {}, ''
for _, each in ipairs(redis.call('XREVRANGE', KEYS[1], from, '-', 'COUNT', ARGV[2])) do
  last = string.match(each[1], '^%d+')
  local fields = each[2]
  if ARGV[3] == '' or fields[2] == ARGV[3] then
    found[#found + 1] = last
    found[#found + 1] = fields[4] or ''
  end
end
return { last, found }
`

/**
 * The audit trail in a stream of Redis, one for all nodes. It uses your client and leaves it open.
 *
 * @example
 * const service = await createLockServer({ store, documents: redisDocuments(client), audit: redisAudit(client) })
 */
export function redisAudit(client: RedisClient, options: RedisAuditOptions = {}): AuditLog {
  const { maxEntries = AUDIT_ENTRIES, ...parts } = options
  expectWhole('maxEntries', maxEntries, 1)
  const { run, list, prefix } = redisScripts(client, parts)
  const key = `${prefix}:audit`
  return {
    async append(entry) {
      await run(APPEND_ENTRY, key, [entry.resource, JSON.stringify(entry), String(maxEntries)])
    },
    async read({ limit, before, resource = '' }) {
      const found: { readonly number: number; readonly entry: AuditEntry | null }[] = []
      // Every entry is looked at to find those of a resource.
      const count = String(resource === '' ? limit + 1 : REDIS_KEYS_AT_ONCE)
      for (let from = before === undefined ? '' : String(before); found.length <= limit; ) {
        const [last, entries] = await list(READ_ENTRIES, key, [from, count, resource])
        for (let n = 0; n < entries.length; n += 2)
          found.push({ number: Number(entries[n]), entry: parseEntry(entries[n + 1] ?? '') })
        if (last === '') break
        from = last
      }
      return pageOf(found, limit)
    },
  }
}

function redisScripts(client: RedisClient, options: RedisPartsOptions) {
  const redis = redisDatabase(client)
  expectOptions(options, { prefix: 1 })
  const { prefix = 'holdfast' } = options
  expectPrefix(prefix)
  const calls = new Calls({ backend: 'Redis', explain: redisError })
  const run = (script: string, key: string, args: readonly string[]) =>
    calls.run(() => redis.eval(script, [key], [...args]))
  const list = async (script: string, key: string, args: readonly string[]) => {
    const answer = await run(script, key, args)
    if (!Array.isArray(answer)) throw malformedAnswer('Redis', answer)
    return answer
  }
  return { run, list, prefix }
}
