import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, type DatabaseSyncOptions } from 'node:sqlite'
import type { LeaseStore } from '../../../src/core/index.ts'
import { sqliteStore } from '../../../src/stores/sqlite/index.ts'
import type { SqliteStoreOptions } from '../../../src/stores/sqlite/options.ts'

/** A database of one test, with the stores and connections that are opened on it. */
export class DatabaseFile implements AsyncDisposable {
  readonly #directory = mkdtempSync(join(tmpdir(), 'holdfast-sqlite-'))
  readonly #stores: LeaseStore[] = []
  readonly #connections: DatabaseSync[] = []
  readonly path = join(this.#directory, 'leases.db')

  store(options?: SqliteStoreOptions): LeaseStore {
    const store = sqliteStore(this.path, options)
    this.#stores.push(store)
    return store
  }

  /** Another connection, like that of an application or of another process. */
  connect(options: DatabaseSyncOptions = {}): DatabaseSync {
    const connection = new DatabaseSync(this.path, options)
    this.#connections.push(connection)
    return connection
  }

  count(table: string): number {
    const connection = new DatabaseSync(this.path)
    const [{ rows }] = connection.prepare(`SELECT count(*) AS rows FROM ${table}`).all() as [{ rows: number }]
    connection.close()
    return rows
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()))
    for (const connection of this.#connections) if (connection.isOpen) connection.close()
    rmSync(this.#directory, { recursive: true })
  }
}
