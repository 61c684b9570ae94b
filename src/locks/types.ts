/**
 * The types of the Web Locks API, written out so that programs without the DOM types can use them. They fit the types of
 * `lib.dom` in both directions.
 */
export type LockMode = 'exclusive' | 'shared'

export interface LockOptions {
  /** `shared` locks of a name are held together; an `exclusive` one alone. Default `exclusive`. */
  mode?: LockMode | undefined
  /** Do not wait: if the lock cannot be granted at once, the callback gets `null`. Default false. */
  ifAvailable?: boolean | undefined
  /** Take the lock at once. Requests that hold it reject with an `AbortError`; their callbacks continue. Default false. */
  steal?: boolean | undefined
  /** Ends the wait. Has no effect once the callback was called. */
  signal?: AbortSignal | undefined
}

export interface Lock {
  readonly name: string
  readonly mode: LockMode
}

export type LockGrantedCallback<T> = (lock: Lock | null) => T

export interface LockInfo {
  /** Absent if the name is longer than 4 KB and another client has requested it. */
  name?: string
  mode?: LockMode
  /** Which lock manager has requested it. */
  clientId?: string
}

export interface LockManagerSnapshot {
  /** In the order of the grants. */
  held?: LockInfo[]
  /** By name; those of one name in the order of the queue. */
  pending?: LockInfo[]
}

export interface LockManager {
  /**
   * Waits for the lock, calls `callback` with it, and releases it when the callback's promise settles. Resolves with
   * what the callback returned, after the release. Not re-entrant.
   *
   * @example
   * await locks.request('invoice:42', async () => save(invoice))
   */
  request<T>(name: string, callback: LockGrantedCallback<T>): Promise<Awaited<T>>
  request<T>(name: string, options: LockOptions, callback: LockGrantedCallback<T>): Promise<Awaited<T>>
  /** The locks that are held and the requests that wait, of all clients of the store. */
  query(): Promise<LockManagerSnapshot>
}
