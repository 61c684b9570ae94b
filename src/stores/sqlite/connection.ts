import { DatabaseSync } from 'node:sqlite'
import { inTransaction } from '../../clients/sqlite.ts'
import { fileCheck } from '../local/database-file-node.ts'
import { Queries } from './queries.ts'
import { migrate, tableNames } from './schema.ts'

interface OpenDatabase {
  readonly db: DatabaseSync
  readonly queries: Queries
  /** Throws if the file was deleted or replaced. */
  expectFile(): void
}

/** The database of a store. It is opened by the first call, so that this call fails if the file cannot be used. */
export class Connection {
  /** It belongs to the application, which has its own settings there, and may have a transaction open. */
  readonly shared: boolean
  /** How messages name it. */
  readonly name: string
  readonly #source: string | DatabaseSync
  readonly #table: string
  readonly #synchronous: string
  #open: OpenDatabase | undefined

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
    const { db, queries } = this.#opened()
    return inTransaction(db, () => work(queries))
  }

  close(): void {
    if (!this.shared) this.#open?.db.close()
    this.#open = undefined
  }

  #opened(): OpenDatabase {
    this.#open ??= this.#connect()
    this.#open.expectFile()
    return this.#open
  }

  #connect(): OpenDatabase {
    const db = typeof this.#source === 'string' ? new DatabaseSync(this.#source) : this.#source
    try {
      // A busy timeout would block the whole event loop. `BusyQueue` retries by a timer instead.
      if (!this.shared)
        db.exec(
          `PRAGMA busy_timeout = 0; PRAGMA journal_mode = WAL; PRAGMA synchronous = ${this.#synchronous}`,
        )
      migrate(db, this.#table)
      return { db, queries: new Queries(db, tableNames(this.#table), this.shared), expectFile: fileCheck(db) }
    } catch (error) {
      if (!this.shared) db.close()
      throw error
    }
  }
}
