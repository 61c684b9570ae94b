export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject
export interface JsonObject {
  readonly [key: string]: JsonValue
}

/**
 * An object that JSON can carry. It may have the type of an `interface`, which is no `JsonObject` for the compiler: so
 * the values in it are checked when it is used.
 */
export type PlainObject =
  | JsonObject
  | (object & { readonly [Symbol.iterator]?: never; readonly call?: never; readonly getTime?: never })

/** A lease as the store knows it. Times are milliseconds of the store's clock. */
export interface LeaseRecord {
  readonly resource: string
  /** Identifies this one lease. Everybody who knows it may renew and release the lease. */
  readonly id: string
  readonly owner: string
  /** Rises with every grant of the resource, forever. */
  readonly token: number
  readonly metadata: JsonObject | null
  /** How many leases of the resource may be live together, as this holder asked; `null`: only this one. */
  readonly share: number | null
  readonly acquiredAt: number
  /**
   * `null`: never, because the backend itself ends the lease (Web Locks). If the state is `kept`: when the resource
   * becomes free.
   */
  readonly expiresAt: number | null
  /** Milliseconds left when the store answered: the only time that may be compared with another clock. */
  readonly remaining: number | null
  /**
   * `kept`: the lease has ended, and the resource stays taken by its `atLeast` or `lockDelay`. Nobody holds it. A
   * forced release with its token frees it.
   */
  readonly state: 'held' | 'kept' | 'released' | 'expired' | 'taken-over'
}
