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
  readonly shared: string
  readonly index: string

  constructor(prefix: string, resource: string) {
    this.shard = shardOf(resource)
    // The script finds the resource in the key of the row: it follows the key of the index and a colon.
    this.index = indexOf(prefix, this.shard)
    this.row = `${this.index}:${resource}`
    this.watched = watchedOf(prefix, this.shard)
    this.queue = `${prefix}:{${this.shard}}:line:${resource}`
    this.shared = `${prefix}:{${this.shard}}:shared:${resource}`
    this.all = [this.row, this.watched, this.queue, this.index, this.shared]
  }
}

export function indexOf(prefix: string, shard: number): string {
  return `${prefix}:{${shard}}:lease`
}

export function watchedOf(prefix: string, shard: number): string {
  return `${prefix}:{${shard}}:watched`
}
