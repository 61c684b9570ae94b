import { expectOptions } from '../base/arguments.ts'
import { type DocumentStore, type SavedDocument, UnreadableContent } from './documents.ts'
import { checkTable, type Dialect, prepared, type SqlRow } from './sql.ts'

export interface SqlDocumentsOptions {
  /** Created if it is missing. Default `holdfast_documents`. */
  readonly table?: string
}

/** The fence and the content of a room are in one row, so that one statement compares the fence and saves. */
export function sqlDocuments(dialect: Dialect, options: SqlDocumentsOptions): DocumentStore {
  expectOptions(options, { table: 1 })
  const table = checkTable(options.table ?? 'holdfast_documents')
  const sql = prepared(dialect, [
    `create table if not exists ${table} (room text primary key not null, fence bigint not null,
      holder text not null, content text, token bigint, saved_at bigint)`,
  ])
  const firstRow = async (text: string, values: readonly string[]): Promise<SqlRow | undefined> =>
    (await sql(text, values))[0]

  return {
    async fence(room, { token, holder }) {
      const raised = await firstRow(
        `insert into ${table} (room, fence, holder) values (?1, cast(?2 as bigint), ?3)
          on conflict (room) do update set fence = excluded.fence, holder = excluded.holder
          where ${table}.fence < excluded.fence returning fence`,
        [room, String(token), holder],
      )
      return raised !== undefined
    },
    async read(room) {
      const row = await firstRow(`select content, token, saved_at from ${table} where room = ?1`, [room])
      return row?.content == null ? null : savedIn(room, row)
    },
    async save(room, { token, holder }, content) {
      const saved = await firstRow(
        `update ${table} set content = ?4, token = fence, saved_at = ${dialect.now}
          where room = ?1 and fence = cast(?2 as bigint) and holder = ?3 returning saved_at`,
        [room, String(token), holder, JSON.stringify(content)],
      )
      if (saved) return { saved: true, savedAt: Number(saved.saved_at) }
      const row = await firstRow(`select fence from ${table} where room = ?1`, [room])
      return { saved: false, fence: row ? Number(row.fence) : null }
    },
  }
}

function savedIn(room: string, row: SqlRow): SavedDocument {
  const [token, savedAt] = [Number(row.token), Number(row.saved_at)]
  try {
    if (![token, savedAt].every((number) => Number.isSafeInteger(number) && number > 0))
      throw new RangeError(`expected a token and a time, got ${row.token} and ${row.saved_at}`)
    return { content: JSON.parse(String(row.content)), token, savedAt }
  } catch (cause) {
    throw new UnreadableContent(room, { cause })
  }
}
