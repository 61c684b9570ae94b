import type { DatabaseSync, StatementSync } from 'node:sqlite'

/** Runs work with the write lock from the first moment: one that is asked for later may be refused. */
export class Transactor {
  readonly #begin: StatementSync
  readonly #commit: StatementSync
  readonly #rollBack: StatementSync

  constructor(db: DatabaseSync) {
    this.#begin = db.prepare('BEGIN IMMEDIATE')
    this.#commit = db.prepare('COMMIT')
    this.#rollBack = db.prepare('ROLLBACK')
  }

  run<T>(work: () => T): T {
    this.#begin.run()
    try {
      const result = work()
      this.#commit.run()
      return result
    } catch (error) {
      this.#undo()
      throw error
    }
  }

  #undo(): void {
    try {
      this.#rollBack.run()
    } catch {
      // A full disk or an I/O error has undone it already; the error that matters is the first.
    }
  }
}
