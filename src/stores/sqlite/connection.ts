import { DatabaseSync } from 'node:sqlite'
import { inTransaction } from '../../clients/sqlite.ts'
import { Queries } from './queries.ts'
import { migrate, tableNames } from './schema.ts'

/** The database of a store. It is opened by the first call, so that this call fails if the file cannot be used. */
export class Connection {
  /** It belongs to the application, which has its own settings there, and may have a transaction open. */
  readonly shared: boolean
  /** How messages name it. */
  readonly name: string
  readonly #source: string | DatabaseSync
  readonly #table: string
  readonly #synchronous: string
  #open: { readonly db: DatabaseSync; readonly queries: Queries } | undefined

  constructor(source: string | DatabaseSync, table: string, synchronous: 'normal' | 'full') {
    this.shared = typeof source !== 'string'
    this.name = typeof source === 'string' ? `the database ${source}` : 'the database'
    this.#source = source
    this.#table = table
    this.#synchronous = synchronous
  }

  get queries(): Queries {
    this.#open ??= this.#connect()
    return this.#open.queries
  }

  transaction<T>(work: (queries: Queries) => T): T {
    this.#open ??= this.#connect()
    const { db, queries } = this.#open
    return inTransaction(db, () => work(queries))
  }

  close(): void {
    if (!this.shared) this.#open?.db.close()
    this.#open = undefined
  }

  #connect() {
    const db = typeof this.#source === 'string' ? new DatabaseSync(this.#source) : this.#source
    try {
      // A busy timeout would block the whole event loop. `BusyQueue` retries by a timer instead.
      if (!this.shared)
        db.exec(
          `PRAGMA busy_timeout = 0; PRAGMA journal_mode = WAL; PRAGMA synchronous = ${this.#synchronous}`,
        )
      migrate(db, this.#table)
      return { db, queries: new Queries(db, tableNames(this.#table), this.shared) }
    } catch (error) {
      if (!this.shared) db.close()
      throw error
    }
  }
}
