import type { LeaseError } from '../../core/index.ts'

/**
 * What some databases offer in place of a script or a transaction: named values that change by compare-and-set,
 * each stamped with the server's time of its write. A lease store needs no more than that.
 *
 * The empty name, which no resource has, is a register like any other; the store keeps the floor of tokens there.
 */
export interface Registers<E extends Entry = Entry> {
  /** In the order of the names; `null` where there is none. */
  read(names: readonly string[]): Promise<Reading<E, E | null>>

  /** Writes only if `previous` is still there, or nothing if `null`. Answers `null` when another was first. */
  write(name: string, text: string, previous: E | null, index: Index): Promise<Written<E> | null>

  /** Removes the entry, unless it was written again since. Tells no watcher. */
  forget(entry: E): Promise<void>

  /** At least the listed entries of a page, ordered by name; `next` when there may be more after it. */
  list(
    query: { readonly prefix: string; readonly after: string; readonly limit: number },
    stop: AbortSignal,
  ): Promise<Reading<E> & { readonly next?: string }>

  /** Pages that together have at least the entries that are due, the longest due first. */
  due(limit: number, stop: AbortSignal): AsyncIterable<Reading<E>>

  /** Resolves once every later write will be told; tells until `stop`, also if it has not resolved by then. */
  watch(feed: Feed<E>, stop: AbortSignal): Promise<void>

  explain(error: unknown): LeaseError

  /** Frees what it opened; the client is its owner's. */
  close(): void
}

export interface Entry {
  readonly name: string
  readonly text: string
  /** When it was written, by the server's clock in microseconds; never less than it was. */
  readonly micros: number
  /** Rises with every write of the name. */
  readonly order: number
}

export interface Reading<E, R = E> {
  readonly entries: readonly R[]
  /** The server's clock in milliseconds, after these were written; never more than it is. */
  now(): Promise<number>
}

export interface Written<E> {
  readonly entry: E
  /** Another write came so soon that `entry` bears the time of that one, which is later. */
  readonly overtaken: boolean
}

/** By what an entry can be found, for databases that have an index. */
export interface Index {
  readonly listed: boolean
  /** In how many milliseconds a sweep should look at it; `null`: never. */
  readonly dueIn: number | null
}

export interface Feed<E> {
  changed(entry: E): void
  /** Removed by somebody else than `forget`. */
  gone(name: string): void
  /** Tells nothing any more, or may have missed something. */
  ended(): void
}
