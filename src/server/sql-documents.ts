import { expectOptions } from '../base/arguments.ts'
import {
  type Changed,
  type DocumentStore,
  FIRST_TIME_TOKEN,
  type Grant,
  KEEP_FENCE_MS,
  removalOf,
  savedDocument,
  savingOf,
} from './documents.ts'
import { checkTable, type Dialect, indexOf, type SqlRow, sqlTable } from './sql.ts'

export interface SqlDocumentsOptions {
  /** Created if it is missing. Default `holdfast_documents`. */
  readonly table?: string
}

/** The revision of a row: the time of its save, made unique. `saved_at` of a deleted content stays. */
const REVISION = 'case when content is null then 0 else saved_at end'

/**
 * The fence and the content of a room are in one row, so that one statement compares the fence and saves. A token is
 * not lower than the time of its grant in microseconds, so it also tells the age of a fence.
 */
export function sqlDocuments(dialect: Dialect, options: SqlDocumentsOptions): DocumentStore {
  expectOptions(options, { table: 1 })
  const table = checkTable(options.table ?? 'holdfast_documents')
  const { sql, check } = sqlTable(dialect, table, [
    [
      `create table if not exists ${table} (room text primary key not null, fence bigint not null,
        holder text not null, content text, token bigint, saved_at bigint)`,
      `create index if not exists ${indexOf(table, 'empty')} on ${table} (fence) where content is null`,
    ],
  ])
  const firstRow = async (text: string, values: readonly string[]): Promise<SqlRow | undefined> =>
    (await sql(text, values))[0]

  /** Sets the content (`null`: none) if the fence and the revision are as expected. */
  async function change(
    room: string,
    grant: Grant | null,
    content: string | null,
    expected: number | undefined,
  ): Promise<Changed> {
    const values = [room]
    const parameter = (value: string | number) => `?${values.push(String(value))}`
    const assignments =
      content === null
        ? 'content = null, token = null'
        : `content = ${parameter(content)}, token = fence,
            saved_at = case when saved_at >= ${dialect.now} then saved_at + 1 else ${dialect.now} end`
    const conditions = [
      'room = ?1',
      ...(grant
        ? [`fence = cast(${parameter(grant.token)} as bigint)`, `holder = ${parameter(grant.holder)}`]
        : []),
      ...(expected === undefined ? [] : [`${REVISION} = cast(${parameter(expected)} as bigint)`]),
    ]
    const changed = await firstRow(
      `update ${table} set ${assignments} where ${conditions.join(' and ')} returning saved_at`,
      values,
    )
    if (changed) return { savedAt: Number(changed.saved_at) }
    const row = await firstRow(
      `select fence, holder, ${REVISION} as revision from ${table} where room = ?1`,
      [room],
    )
    const fence = row ? Number(row.fence) : null
    const isFenced = grant !== null && (fence !== grant.token || row?.holder !== grant.holder)
    return isFenced ? { fence } : { revision: Number(row?.revision ?? 0) }
  }

  return {
    check,
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
      if (row?.content == null) return null
      const { content, token, saved_at } = row
      return savedDocument(room, String(content), { token, savedAt: saved_at, revision: saved_at })
    },
    save: async (room, grant, content, expected) =>
      savingOf(await change(room, grant, JSON.stringify(content), expected)),
    remove: async (room, grant, expected) => removalOf(await change(room, grant, null, expected), expected),
    async sweep() {
      await sql(
        `delete from ${table} where content is null and fence >= ${FIRST_TIME_TOKEN}
          and fence < (${dialect.now} - ${KEEP_FENCE_MS}) * 1000`,
        [],
      )
    },
  }
}
