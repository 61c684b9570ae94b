import { LeaseError, type LeaseRecord } from '../../core/index.ts'
import type { Reply } from './calls.ts'

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

export class Keys {
  readonly #prefix: string

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  /** The script finds a resource's name in its row's key: what follows the key of the index and a colon. */
  index(shard: number): string {
    return `${this.#prefix}:{${shard}}:lease`
  }

  row(shard: number, resource: string): string {
    return `${this.#prefix}:{${shard}}:lease:${resource}`
  }

  line(shard: number, resource: string): string {
    return `${this.#prefix}:{${shard}}:line:${resource}`
  }
}

/** What the script stores and shows to others, besides the times, the token and the channel. */
export function packAbout(resource: string, id: string, owner: string, metadata: unknown): string {
  return JSON.stringify({ resource, id, owner, metadata })
}

const PACKED = /^(\d+) (\d+) (\d+) (\d+) \S+ (\{.*\})$/s

/** A lease as the script keeps it, seen at `now` in microseconds. */
export function unpack(packed: string, state: LeaseRecord['state'], now: number): LeaseRecord {
  const [, token, acquired, since, span, about] = PACKED.exec(packed) ?? []
  const { resource, id, owner, metadata } = parse(about)
  const ends = Math.min(Number(since), now) + Number(span)
  if (typeof resource !== 'string' || typeof id !== 'string' || typeof owner !== 'string' || !token)
    throw new LeaseError(
      'store-failed',
      `Redis holds what is no lease: ${JSON.stringify(packed.slice(0, 80))}`,
    )
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

/** The lease that a reply shows, if it is live. */
export function liveLease({ now, value }: Reply): LeaseRecord | null {
  const lease = value === '' ? null : unpack(String(value), 'held', now)
  return lease?.remaining && lease.remaining > 0 ? lease : null
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
