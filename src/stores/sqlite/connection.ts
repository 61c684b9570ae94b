import { DatabaseSync } from 'node:sqlite'
import { inTransaction } from '../../clients/sqlite.ts'
import { fileCheck } from '../../clients/sqlite-file.ts'
import { DiskSync } from './disk-sync.ts'
import { tableNames } from './names.ts'
import { Queries } from './queries.ts'
import { migrate } from './schema.ts'

interface OpenDatabase {
  readonly db: DatabaseSync
  readonly queries: Queries
  readonly sync: DiskSync | undefined
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
  readonly #waitsForDisk: boolean
  #open: OpenDatabase | undefined

  constructor(source: string | DatabaseSync, table: string, synchronous: 'normal' | 'full') {
    this.shared = typeof source !== 'string'
    this.name = typeof source === 'string' ? `the database ${source}` : 'the database'
    this.#source = source
    this.#table = table
    this.#waitsForDisk = synchronous === 'full'
  }

  get queries(): Queries {
    return this.#opened().queries
  }

  transaction<T>(work: (queries: Queries) => T): T {
    const { db, queries } = this.#opened()
    return inTransaction(db, () => work(queries))
  }

  /** Resolves when all that was committed is on the disk. `undefined`: nobody wants to wait for that. */
  synced(): Promise<void> | undefined {
    return this.#open?.sync?.finished()
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
      const sync = this.shared ? undefined : this.#setUp(db)
      migrate(db, this.#table)
      const queries = new Queries(db, tableNames(this.#table), this.shared)
      return { db, queries, sync, expectFile: fileCheck(db) }
    } catch (error) {
      if (!this.shared) db.close()
      throw error
    }
  }

  /** Where SQLite cannot keep a write-ahead log, it waits for the disk itself. */
  #setUp(db: DatabaseSync): DiskSync | undefined {
    // A busy timeout would block the whole event loop. `BusyQueue` retries by a timer instead.
    db.exec('PRAGMA busy_timeout = 0')
    const { journal_mode } = Object(db.prepare('PRAGMA journal_mode = WAL').get())
    const isLogged = journal_mode === 'wal'
    db.exec(`PRAGMA synchronous = ${this.#waitsForDisk && !isLogged ? 'full' : 'normal'}`)
    if (!this.#waitsForDisk || !isLogged) return undefined
    const { file } = Object(db.prepare('PRAGMA database_list').get())
    return DiskSync.ofLog(String(file))
  }
}
