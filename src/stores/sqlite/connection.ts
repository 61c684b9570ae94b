import { DatabaseSync } from 'node:sqlite'
import { closedError } from './errors.ts'
import { Queries } from './queries.ts'
import { migrate, tableNames } from './schema.ts'
import { Transactor } from './transactor.ts'

/** The database of a store. Opened when first used, so that a file that is locked or missing fails a call. */
export class Connection {
  /** The application's: it has settings of its own, and maybe a transaction open. */
  readonly shared: boolean
  /** How messages name it. */
  readonly name: string
  readonly #source: string | DatabaseSync
  readonly #table: string
  readonly #synchronous: string
  #closed = false
  #open: { db: DatabaseSync; queries: Queries; transactor: Transactor } | undefined

  constructor(source: string | DatabaseSync, table: string, synchronous: 'normal' | 'full') {
    this.shared = typeof source !== 'string'
    this.name = typeof source === 'string' ? `the database ${source}` : 'the database'
    this.#source = source
    this.#table = table
    this.#synchronous = synchronous
  }

  get queries(): Queries {
    return this.#opened().queries
  }

  transaction<T>(work: (queries: Queries) => T): T {
    const { queries, transactor } = this.#opened()
    return transactor.run(() => work(queries))
  }

  close(): void {
    this.#closed = true
    if (!this.shared) this.#open?.db.close()
    this.#open = undefined
  }

  #opened() {
    if (this.#closed) throw closedError()
    this.#open ??= this.#connect()
    return this.#open
  }

  #connect() {
    const db = typeof this.#source === 'string' ? new DatabaseSync(this.#source) : this.#source
    try {
      // A busy timeout would stop the whole event loop: who finds the file locked comes again by a timer.
      if (!this.shared)
        db.exec(
          `PRAGMA busy_timeout = 0; PRAGMA journal_mode = WAL; PRAGMA synchronous = ${this.#synchronous}`,
        )
      const transactor = new Transactor(db)
      migrate(db, this.#table, transactor)
      return { db, transactor, queries: new Queries(db, tableNames(this.#table), this.shared) }
    } catch (error) {
      if (!this.shared) db.close()
      throw error
    }
  }
}
