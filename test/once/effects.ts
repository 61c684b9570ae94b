import { DatabaseSync } from 'node:sqlite'

/** The side effects of jobs, guarded by the token: a token lower than one that was seen is refused. */
export class Effects {
  readonly #database: DatabaseSync

  constructor(path: string) {
    this.#database = new DatabaseSync(path, { timeout: 5000 })
    // Not in WAL mode: if several processes switch to it at once, all but one fail without waiting.
    this.#database.exec(`pragma synchronous = off;
      begin immediate;
      create table if not exists fences (job text primary key, token integer not null);
      create table if not exists effects (job text primary key, token integer not null, worker text not null);
      create table if not exists refused (job text not null, token integer not null, worker text not null);
      commit`)
  }

  /** Returns whether the token was accepted. An effect of an earlier attempt stays and counts for this one. */
  apply(job: string, token: number, worker: string): boolean {
    const database = this.#database
    database.exec('begin immediate')
    const raise = database.prepare(`insert into fences values (?, ?)
      on conflict (job) do update set token = excluded.token where excluded.token >= token`)
    const allowed = raise.run(job, token).changes === 1
    const table = allowed ? 'effects' : 'refused'
    database.prepare(`insert into ${table} values (?, ?, ?) on conflict do nothing`).run(job, token, worker)
    database.exec('commit')
    return allowed
  }

  count(table: 'effects' | 'refused'): number {
    return this.#database.prepare(`select 1 from ${table}`).all().length
  }

  close(): void {
    this.#database.close()
  }
}
