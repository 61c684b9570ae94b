import { expectOptions } from '../base/arguments.ts'
import {
  type Changed,
  type DocumentStore,
  FIRST_TIME_TOKEN,
  type RequestedChange,
  removalOf,
  savedDocument,
  savingOf,
  unchangedRow,
} from './documents.ts'
import { KEEP_FENCE_MS, type SqlDocumentsOptions } from './options.ts'
import { checkTable, type Dialect, indexOf, type SqlRow, sqlTable } from './sql.ts'

/** `sequence` is the highest one of the grant `sequence_token`. Earlier versions neither set nor reset them. */
const IS_SEQUENCED = 'coalesce(sequence_token, -1) = fence'

/** The revision of a row: the time of its save, made unique. After a removal, `saved_at` is the time of that. */
const REVISION = 'case when content is null then 0 else saved_at end'

/**
 * The fence and the content of a room are in one row, so that one statement compares the fence and saves. A token is
 * not lower than the time of its grant in microseconds, so it also tells the age of a fence.
 */
export function sqlDocuments(dialect: Dialect, options: SqlDocumentsOptions): DocumentStore {
  expectOptions(options, { table: 1 })
  const table = checkTable(options.table ?? 'holdfast_documents')
  const { sql, check } = sqlTable(
    dialect,
    table,
    [
      [
        `create table if not exists ${table} (room text primary key not null, fence bigint not null,
        holder text not null, content text, token bigint, saved_at bigint)`,
        `create index if not exists ${indexOf(table, 'empty')} on ${table} (fence) where content is null`,
      ],
      [
        `alter table ${table} add column sequence bigint`,
        `alter table ${table} add column sequence_token bigint`,
      ],
    ],
    // No room has this name.
    [`insert into ${table} (room, fence, holder) values ('', 0, '')`, `delete from ${table} where room = ''`],
  )
  const firstRow: FirstRow = async (text, values) => (await sql(text, values))[0]
  const change = (room: string, requested: RequestedChange) =>
    changeContent({ table, now: dialect.now, firstRow }, room, requested)
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
    save: async (room, grant, content, conditions) =>
      savingOf(await change(room, { ...conditions, grant, content: JSON.stringify(content) })),
    remove: async (room, grant, conditions) =>
      removalOf(await change(room, { ...conditions, grant, content: null }), conditions?.revision),
    async sweep() {
      await sql(
        `delete from ${table} where content is null and fence >= ${FIRST_TIME_TOKEN}
          and fence < (${dialect.now} - ${KEEP_FENCE_MS}) * 1000
          and coalesce(saved_at, 0) < ${dialect.now} - ${KEEP_FENCE_MS}`,
        [],
      )
    },
  }
}

type FirstRow = (text: string, values: readonly string[]) => Promise<SqlRow | undefined>

/** Sets the content (`null`: none) if the fence and the revision are as expected. */
async function changeContent(
  { table, now, firstRow }: { readonly table: string; readonly now: string; readonly firstRow: FirstRow },
  room: string,
  { grant, content, revision, sequence }: RequestedChange,
): Promise<Changed> {
  const values = [room]
  const parameter = (value: string | number) => `?${values.push(String(value))}`
  const set =
    content === null ? 'content = null, token = null' : `content = ${parameter(content)}, token = fence`
  const savedAt = `case when saved_at >= ${now} then saved_at + 1 else ${now} end`
  const next = sequence === undefined ? '' : `cast(${parameter(sequence)} as bigint)`
  const conditions = [
    'room = ?1',
    ...(grant
      ? [`fence = cast(${parameter(grant.token)} as bigint)`, `holder = ${parameter(grant.holder)}`]
      : []),
    ...(revision === undefined ? [] : [`${REVISION} = cast(${parameter(revision)} as bigint)`]),
    ...(next ? [`(not ${IS_SEQUENCED} or sequence < ${next})`] : []),
  ]
  const sequenced = next ? `, sequence = ${next}, sequence_token = fence` : ''
  const changed = await firstRow(
    `update ${table} set ${set}, saved_at = ${savedAt}${sequenced} where ${conditions.join(' and ')} returning saved_at`,
    values,
  )
  if (changed) return { savedAt: Number(changed.saved_at) }
  const row = await firstRow(
    `select fence, holder, saved_at, ${REVISION} as revision,
      case when ${IS_SEQUENCED} then sequence end as sequence from ${table} where room = ?1`,
    [room],
  )
  const fence = row ? Number(row.fence) : null
  const isFenced = grant !== null && (fence !== grant.token || row?.holder !== grant.holder)
  if (isFenced) return { fence }
  return unchangedRow(content === null ? 'remove' : 'save', sequence, row)
}
