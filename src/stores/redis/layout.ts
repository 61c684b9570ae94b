/**
 * Where and how Redis keeps a resource. It has one key of its own, a second one while somebody waits for it, and two
 * that it shares with the other resources of its shard. All times are microseconds of the server's clock.
 *
 *     row      string  the state of the resource, see `FREE_ROW` and `LEASE`
 *     queue    zset    two members with the same score for each waiter, `<id>` and `<id> <channel> <owner>`
 *     index    zset    `name:<resource>`, `due:<time> <resource>` and `floor:<token>`, ordered by bytes
 *     watched  string  exists while somebody watches
 *
 * A released row stays for a while. It keeps the last token and the row's entry in the index, so that the next grant
 * and release touch nothing but the row. When a row is deleted, its token becomes the floor for every new row of the
 * shard.
 */
import { LeaseError } from '../../base/errors.ts'
import type { LeaseRecord } from '../../base/records.ts'
import type { Ask } from '../../core/index.ts'

/**
 * The fields of a row, separated by spaces, as a Lua pattern: `%d` and `%S` mean what `\d` and `\S` mean in a regular
 * expression.
 *
 * - waits: `F` if nobody waits. Otherwise `W<until>:<id>`, the reservation for the first waiter, or `W0:` without one.
 * - token: the token of the last grant.
 * - due: the time of the row's entry in the index: not after the end of the lease, nor more than an hour before it.
 */
export const FREE_ROW = '(%S+) (%d+) (%d+)'
/**
 * The fields that follow while the row has a lease, or one that expired and was returned to nobody yet. The rest of
 * the row is what `packAbout` returns.
 *
 * - acquired: when it was granted.
 * - since, span: it ends at `since + span`. `span` is the most that a clock that steps back may leave to it.
 * - channel: where its holder listens.
 * - id: see `packId`.
 */
export const LEASE = '(%d+) (%d+) (%d+) (%S+) (%S+)'
/**
 * The same row while nobody waits, in the parts that the short path needs. Each capture is a new string, and together
 * they take most of its time.
 *
 * - token and due of a free row.
 * - the free row, since and span, each of them, and channel and id of a row with a lease.
 */
export const UNWAITED_FREE_ROW = 'F (%d+) (%d+)'
export const UNWAITED_HELD_ROW = '(F %d+ %d+) %d+ ((%d+) (%d+)) (%S+ %S+) '

/** The channel of a waiter, in the second of its members. */
export const WAITER_CHANNEL = '^%S+ (%S+)'

const FREE_TEXT = regExp(FREE_ROW)
const HELD_TEXT = regExp(`${FREE_ROW} ${LEASE} (.+)`)
/** The answer to a release by the process that holds the lease and knows the rest of it: since and span. */
const ENDED_TIMES = regExp('(%d+) (%d+)')
const WAITER = regExp('(%S+) %S+ (.+)')
const CHANGE = /^(held|released|expired|taken-over) (.+)$/s

/**
 * Resources are spread over shards. All keys of a shard carry its number as their hash tag, so that the keys of a
 * resource and the index that lists it are in one slot of a cluster, whatever the name contains. The number of shards
 * and the hash are part of the data: with another number, no lease would be found.
 */
export const SHARDS = 64
export const ALL_SHARDS: readonly number[] = Array.from({ length: SHARDS }, (_, shard) => shard)

/** FNV-1a over UTF-16 code units. */
export function shardOf(resource: string): number {
  let hash = 2166136261
  for (let at = 0; at < resource.length; at++) hash = Math.imul(hash ^ resource.charCodeAt(at), 16777619)
  return (hash >>> 0) % SHARDS
}

/** The keys of one resource. */
export class Keys {
  readonly shard: number
  /** In the order in which the script takes them. */
  readonly all: readonly string[]
  readonly row: string
  readonly watched: string
  readonly queue: string
  readonly index: string

  constructor(prefix: string, resource: string) {
    this.shard = shardOf(resource)
    // The script finds the resource in the key of the row: it follows the key of the index and a colon.
    this.index = indexOf(prefix, this.shard)
    this.row = `${this.index}:${resource}`
    this.watched = watchedOf(prefix, this.shard)
    this.queue = `${prefix}:{${this.shard}}:line:${resource}`
    this.all = [this.row, this.watched, this.queue, this.index]
  }
}

export function indexOf(prefix: string, shard: number): string {
  return `${prefix}:{${shard}}:lease`
}

export function watchedOf(prefix: string, shard: number): string {
  return `${prefix}:{${shard}}:watched`
}

/** Escapes the spaces in an id, because spaces separate the fields of a row. Most ids need no escape. */
export function packId(id: string): string {
  return /^[\w-]+$/.test(id) ? id : encodeURIComponent(id)
}

export function packSpan(ms: number): string {
  return String(Math.round(ms * 1000))
}

/** The last four fields of a row. */
export function packLease(ask: Ask, channel: string): string {
  return `${packSpan(ask.ttl)} ${channel} ${packId(ask.id)} ${packAbout(ask)}`
}

/** What others are shown of a lease, besides its times and its token. */
export function packAbout({ resource, id, owner, metadata }: Ask): string {
  return JSON.stringify({ resource, id, owner, metadata })
}

/** As JSON, which keeps every text. */
export function packOwner(owner: string): string {
  return JSON.stringify(owner)
}

/** The second member of a waiter. `null` if it is malformed. */
export function unpackWaiter(member: unknown): { readonly id: string; readonly owner: string } | null {
  const [, id = '', packed = ''] = WAITER.exec(String(member)) ?? []
  try {
    const owner: unknown = JSON.parse(packed)
    return typeof owner === 'string' ? { id: decodeURIComponent(id), owner } : null
  } catch {
    return null
  }
}

/** The lease in a row at `now`, or at the time of its last change. */
export function unpack(row: string, state: LeaseRecord['state'], now?: number): LeaseRecord {
  const [, , token, , acquired, since, span, , , about] = HELD_TEXT.exec(row) ?? []
  const { resource, id, owner, metadata } = parse(about)
  if (typeof resource !== 'string' || typeof id !== 'string' || typeof owner !== 'string')
    throw new LeaseError('store-failed', `Redis: a value is not a lease: ${JSON.stringify(row.slice(0, 80))}`)
  const at = now ?? Number(since)
  const ends = Math.min(Number(since), at) + Number(span)
  return {
    resource,
    id,
    owner,
    token: Number(token),
    metadata: metadata ?? null,
    share: null,
    acquiredAt: Math.floor(Number(acquired) / 1000),
    expiresAt: Math.floor(ends / 1000),
    remaining: state === 'held' ? (ends - at) / 1000 : 0,
    state,
  }
}

/** The lease that was ended: a row or, if this process knows the lease, its last times. */
export function unpackEnded(
  text: string,
  state: LeaseRecord['state'],
  now: number,
  known: LeaseRecord | null,
): LeaseRecord {
  const [, since, span] = ENDED_TIMES.exec(text) ?? []
  if (!known || !since) return unpack(text, state, now)
  const ends = Number(since) + Number(span)
  return { ...known, expiresAt: Math.floor(ends / 1000), remaining: 0, state }
}

/** The lease in a row if it has one and that is live. `row` is empty if there is no row. */
export function unpackLive(row: string, now: number): LeaseRecord | null {
  if (row === '' || FREE_TEXT.test(row)) return null
  const lease = unpack(row, 'held', now)
  return lease.remaining && lease.remaining > 0 ? lease : null
}

/** A message to watchers: `<state> <row>`. Throws if it is malformed. */
export function unpackChange(message: string): LeaseRecord {
  const [, state = '', row = ''] = CHANGE.exec(message) ?? []
  return unpack(row, state as LeaseRecord['state'])
}

function regExp(luaPattern: string): RegExp {
  return new RegExp(`^${luaPattern.replaceAll('%', '\\')}$`, 's')
}

function parse(about: string | undefined): Partial<LeaseRecord> {
  try {
    return Object(JSON.parse(about ?? ''))
  } catch {
    return {}
  }
}
