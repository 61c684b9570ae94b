/** The options of guards in a database. */
export interface GuardTableOptions {
  /** Letters, digits and underscores, optionally after a schema and a dot. Default `holdfast_guard`. */
  readonly table?: string | undefined
}
