import { type Ask, LeaseError, type LeaseRecord } from '../../core/index.ts'

/**
 * Resources are spread over shards, and all keys of a shard carry its number as their hash tag: so the keys of a
 * resource and the index that lists it lie in one slot of a cluster, whatever the name contains. The number of
 * shards and the hash are part of the data: another number would look for every lease in another place.
 */
export const SHARDS = 64

/** FNV-1a over UTF-16 code units. */
export function shardOf(resource: string): number {
  let hash = 2166136261
  for (let at = 0; at < resource.length; at++) hash = Math.imul(hash ^ resource.charCodeAt(at), 16777619)
  return (hash >>> 0) % SHARDS
}

/** The keys of one resource, in the order in which the script takes them. */
export class Keys {
  readonly shard: number
  readonly row: string
  readonly watched: string
  readonly line: string
  readonly index: string

  constructor(prefix: string, resource: string) {
    this.shard = shardOf(resource)
    const shard = `${prefix}:{${this.shard}}`
    this.row = `${shard}:lease:${resource}`
    this.watched = `${shard}:watched`
    this.line = `${shard}:line:${resource}`
    // The script finds the resource in the key of the row: it is what follows this one and a colon.
    this.index = `${shard}:lease`
  }
}

export function indexOf(prefix: string, shard: number): string {
  return `${prefix}:{${shard}}:lease`
}

export function watchedOf(prefix: string, shard: number): string {
  return `${prefix}:{${shard}}:watched`
}

/** Ids stand between spaces in what the script keeps; most have nothing that needs an escape. */
export function packId(id: string): string {
  return /^[\w-]+$/.test(id) ? id : encodeURIComponent(id)
}

/** Which lease, and on which channel to reach its holder. */
export function packWho(channel: string, id: string): string {
  return `${channel} ${packId(id)} `
}

/** What others are shown of a lease, besides its times and its token. */
export function packAbout({ resource, id, owner, metadata }: Ask): string {
  return JSON.stringify({ resource, id, owner, metadata })
}

/** Microseconds of a TTL, in as many digits as the script counts on. */
export function packSpan(ms: number): string {
  return String(Math.round(ms * 1000)).padStart(13, '0')
}

const HELD = /^\S+ (\d+) \d+ (\d+) (\d+) (\d+) \S+ \S+ (\{.*\})$/s
/** `<since> <span>`. */
const TIMES_LENGTH = 30
const FREE = /^(\S+ \d+ \d+)?$/

/** The lease in a row of the script, seen at `now` in microseconds. */
export function unpack(row: string, state: LeaseRecord['state'], now: number): LeaseRecord {
  const [, token, acquired, since, span, about] = HELD.exec(row) ?? []
  const { resource, id, owner, metadata } = parse(about)
  const ends = Math.min(Number(since), now) + Number(span)
  if (typeof resource !== 'string' || typeof id !== 'string' || typeof owner !== 'string')
    throw new LeaseError('store-failed', `Redis holds what is no lease: ${JSON.stringify(row.slice(0, 80))}`)
  return {
    resource,
    id,
    owner,
    token: Number(token),
    metadata: metadata ?? null,
    acquiredAt: Math.floor(Number(acquired) / 1000),
    expiresAt: Math.floor(ends / 1000),
    remaining: state === 'held' ? (ends - now) / 1000 : 0,
    state,
  }
}

/** The lease that was ended: in a row or, when it is known already, in its last times. */
export function unpackEnded(
  text: string,
  state: LeaseRecord['state'],
  now: number,
  known: LeaseRecord | null,
): LeaseRecord {
  if (!known || text.length > TIMES_LENGTH) return unpack(text, state, now)
  const ends = Number(text.slice(0, 16)) + Number(text.slice(17))
  return { ...known, expiresAt: Math.floor(ends / 1000), remaining: 0, state }
}

/** The lease in a row, if there is one and it is live. */
export function unpackLive(row: string, now: number): LeaseRecord | null {
  if (FREE.test(row)) return null
  const lease = unpack(row, 'held', now)
  return lease.remaining && lease.remaining > 0 ? lease : null
}

function parse(about: string | undefined): Partial<LeaseRecord> {
  try {
    return Object(JSON.parse(about ?? ''))
  } catch {
    return {}
  }
}

/** In order of UTF-8 bytes, as Redis sorts: UTF-16 puts surrogate pairs before the end of the basic plane. */
export function compareBytes(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at++) {
    const [x, y] = [a.charCodeAt(at), b.charCodeAt(at)]
    if (x !== y) return byteOrder(x) - byteOrder(y)
  }
  return a.length - b.length
}

function byteOrder(unit: number): number {
  if (unit >= 0xe000) return unit - 0x800
  return unit >= 0xd800 ? unit + 0x2000 : unit
}
