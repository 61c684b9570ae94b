import { expectOptions, expectWhole } from '../base/arguments.ts'
import { type AuditLog, pageOf, parseEntry } from './audit.ts'
import { AUDIT_ENTRIES, DELETE_ENTRIES_EVERY, type SqlAuditOptions } from './options.ts'
import { checkTable, type Dialect, indexOf, sqlTable } from './sql.ts'

/** One trail for all nodes, which outlives them. */
export function sqlAudit(dialect: Dialect, options: SqlAuditOptions): AuditLog {
  expectOptions(options, { table: 1, maxEntries: 1 })
  const table = checkTable(options.table ?? 'holdfast_audit')
  const { maxEntries = AUDIT_ENTRIES } = options
  expectWhole('maxEntries', maxEntries, 1)
  const { sql, check } = sqlTable(dialect, table, [
    [
      `create table if not exists ${table} (number ${dialect.serial}, resource text not null, entry text not null)`,
      `create index if not exists ${indexOf(table, 'resource')} on ${table} (resource, number)`,
    ],
  ])
  return {
    check,
    async append(entry) {
      const [row] = await sql(`insert into ${table} (resource, entry) values (?1, ?2) returning number`, [
        entry.resource,
        JSON.stringify(entry),
      ])
      const number = Number(row?.number)
      if (number % DELETE_ENTRIES_EVERY === 0)
        await sql(`delete from ${table} where number <= cast(?1 as bigint)`, [String(number - maxEntries)])
    },
    async read({ limit, before = Number.MAX_SAFE_INTEGER, resource }) {
      const about = resource === undefined ? '' : 'and resource = ?3'
      const rows = await sql(
        `select number, entry from ${table} where number < cast(?1 as bigint) ${about}
          order by number desc limit cast(?2 as integer)`,
        [String(before), String(limit + 1), ...(resource === undefined ? [] : [resource])],
      )
      const found = rows.map(({ number, entry }) => ({
        number: Number(number),
        entry: parseEntry(String(entry)),
      }))
      return pageOf(found, limit)
    },
  }
}
