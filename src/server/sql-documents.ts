import type { DocumentStore } from './documents.ts'
import { checkTable, type Dialect, prepared, type SqlRow } from './sql.ts'

export interface SqlDocumentsOptions {
  /** Made when it is missing. Default `holdfast_documents`. */
  readonly table?: string
}

/** The fence and the content of a room in one row, so that one statement compares the one and writes the other. */
export function sqlDocuments(dialect: Dialect, options: SqlDocumentsOptions = {}): DocumentStore {
  const table = checkTable(options.table ?? 'holdfast_documents')
  const sql = prepared(dialect, [
    `create table if not exists ${table} (room text primary key not null, fence bigint not null,
      holder text not null, content text, token bigint, saved_at bigint)`,
  ])
  const one = async (text: string, values: readonly string[]): Promise<SqlRow | undefined> =>
    (await sql(text, values))[0]

  return {
    async fence(room, { token, holder }) {
      const raised = await one(
        `insert into ${table} (room, fence, holder) values (?1, cast(?2 as bigint), ?3)
          on conflict (room) do update set fence = excluded.fence, holder = excluded.holder
          where ${table}.fence < excluded.fence returning fence`,
        [room, String(token), holder],
      )
      return raised !== undefined
    },
    async read(room) {
      const row = await one(`select content, token, saved_at from ${table} where room = ?1`, [room])
      const { content, token, saved_at } = row ?? {}
      if (typeof content !== 'string') return null
      return { content: JSON.parse(content), token: Number(token), savedAt: Number(saved_at) }
    },
    async save(room, { token, holder }, content) {
      const saved = await one(
        `update ${table} set content = ?4, token = fence, saved_at = ${dialect.now}
          where room = ?1 and fence = cast(?2 as bigint) and holder = ?3 returning saved_at`,
        [room, String(token), holder, JSON.stringify(content)],
      )
      if (saved) return { saved: true, savedAt: Number(saved.saved_at) }
      const row = await one(`select fence from ${table} where room = ?1`, [room])
      return { saved: false, fence: row ? Number(row.fence) : null }
    },
  }
}
