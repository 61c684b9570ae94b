import { DatabaseSync } from 'node:sqlite'
import { HANG_MS } from '../options.ts'

/** A resource that checks tokens itself: it refuses a write with a lower one than it has seen. */
export class GuardedFile {
  readonly #database: DatabaseSync

  constructor(path: string) {
    this.#database = new DatabaseSync(path, { timeout: HANG_MS })
    // Not in WAL mode: of several processes that change to it at once, all but one fail without waiting.
    this.#database.exec(`
      pragma synchronous = off;
      begin immediate;
      create table if not exists guarded (resource text primary key, token integer, writer text);
      commit;
    `)
  }

  /** False: refused. */
  write(resource: string, token: number, writer: string): boolean {
    const write = this.#database.prepare(`
      insert into guarded values (?, ?, ?)
      on conflict (resource) do update set token = excluded.token, writer = excluded.writer
      where excluded.token > token or (excluded.token = token and excluded.writer = writer)
    `)
    return write.run(resource, token, writer).changes === 1
  }
}
