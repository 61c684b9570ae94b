import type { LeaseError } from '../../base/errors.ts'

/**
 * The port for databases that have neither scripts nor transactions, but can compare and set: named values
 * ("registers"), each with the server's time of its last write. `registerStore` makes a lease store of it.
 *
 * Names are the names of resources. One more register has the empty name, which no resource has; it keeps the
 * store's token floor. Methods reject with the errors of the database, which `explain` translates.
 *
 * `R` is the database's own kind of register. It carries what the database needs to compare, such as a revision.
 */
export interface Registers<R extends Register = Register> {
  /**
   * The registers of these names, in the same order; `null` where there is none. Linearizable: it returns every
   * write that was acknowledged before the call, so it must not be answered by a replica that lags behind.
   */
  read(names: readonly string[]): Promise<Reading<R, R | null>>

  /**
   * Writes if the register is still `previous`, or, for `null`, if there is none. Atomic: of several writes with the
   * same `previous` at most one succeeds. If another write came first, resolves with `null`, or with the register as
   * `read` returns it if the database told it anyway.
   *
   * `index` is for a database that has one. It is called with a time in milliseconds of the server's clock, not later
   * than that of this write and not earlier than that of `previous`.
   *
   * No two texts are equal. A client that repeats a write by itself, because its answer was lost, gets a conflict with
   * its own first write; it must then compare the text, and resolve as if the repetition had been the only one.
   */
  write(
    name: string,
    text: string,
    previous: R | null,
    index: (now: number) => IndexFields,
  ): Promise<Written<R> | Reading<R, R | null> | null>

  /** Removes the register, unless it was written after `register` was read. Is not reported to `watch`. */
  remove(register: R): Promise<void>

  /**
   * One page of the registers that were written with `isListed`, and perhaps others, ordered by name. Names with a
   * common prefix must be neighbours in that order. `next`, where present, is the `after` of the following page.
   * `stop` aborts when nobody waits for the page any more.
   */
  list(query: RegisterQuery, stop: AbortSignal): Promise<Reading<R> & { readonly next?: string }>

  /**
   * Pages of about `limit` registers: at least all whose `dueAt` has passed, the longest due first. `stop` aborts when
   * nobody waits for them any more.
   */
  due(limit: number, stop: AbortSignal): AsyncIterable<Reading<R>>

  /**
   * Calls the listener until `stop` aborts, which may be before the subscription is open. The promise settles when the
   * subscription has ended, by `stop` or because it broke, and none of its requests is under way. It rejects if the
   * subscription could not be opened.
   */
  watch(listener: RegisterListener<R>, stop: AbortSignal): Promise<void>

  /** Turns an error of the database into a `LeaseError`: `store-unavailable` if the same call may succeed later. */
  explain(error: unknown, resource?: string): LeaseError

  /** Why the database cannot be reached at the moment: see `HoldingStore`. */
  trouble?(): Error | undefined

  /** From now on no request may be sent. The client of the database stays open. */
  close(): void
}

/** A named value, as it was last written. */
export interface Register {
  readonly name: string
  readonly text: string
  /**
   * When it was written, in microseconds of the server's clock. It may be rounded up but never down: a lease must not
   * seem to begin, and so to end, earlier than it does. The clock may step back.
   */
  readonly writtenMicros: number
}

/** What was read, and how to learn the time. */
export interface Reading<R, Item = R> {
  readonly registers: readonly Item[]
  /**
   * The server's clock in milliseconds, after the registers were written. It may be rounded down but never up: a
   * lease must not seem to have expired earlier than it does.
   */
  now(): Promise<number>
}

/** A write that succeeded. */
export interface Written<R> {
  readonly register: R
  /**
   * The write succeeded, but another one followed before its time could be read. `writtenMicros` is then the time of
   * the later write. Never set by a database whose answer to a write contains the time.
   */
  readonly isOvertaken?: boolean
}

/** Whether it was written, or another write came first. */
export function isWritten<R>(result: Written<R> | Reading<R, R | null> | null): result is Written<R> {
  return result !== null && 'register' in result
}

/** For a database that has an index. Others find registers by reading all of them. */
export interface IndexFields {
  /** Whether `list` must find it. */
  readonly isListed: boolean
  /** From when `due` must find it, in milliseconds of the server's clock; `null`: never. */
  readonly dueAt: number | null
}

/** Which registers a page is to contain. */
export interface RegisterQuery {
  readonly prefix: string
  /** Only names after this one. */
  readonly after: string
  readonly limit: number
}

/** Whom `watch` tells. */
export interface RegisterListener<R> {
  /** From now on every write is reported. Is called once. */
  opened(): void
  /** The latest state of a register. Earlier ones may be left out, and states may be reported late or twice. */
  changed(register: R): void
  /** Somebody removed a register by other means than `remove`. */
  removed(name: string): void
}
