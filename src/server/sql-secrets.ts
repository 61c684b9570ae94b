import { expectOptions } from '../base/arguments.ts'
import type { SqlSecretsOptions } from './options.ts'
import type { SecretStore } from './secrets.ts'
import { checkTable, type Dialect, sqlTable } from './sql.ts'

export function sqlSecrets(dialect: Dialect, options: SqlSecretsOptions): SecretStore {
  expectOptions(options, { table: 1 })
  const table = checkTable(options.table ?? 'holdfast_secrets')
  const { sql, check } = sqlTable(dialect, table, [
    [`create table if not exists ${table} (name text primary key not null, secret text not null)`],
  ])
  return {
    check,
    async keep(name, secret) {
      await sql(`insert into ${table} (name, secret) values (?1, ?2) on conflict (name) do nothing`, [
        name,
        secret,
      ])
      const [row] = await sql(`select secret from ${table} where name = ?1`, [name])
      return String(row?.secret ?? '')
    },
  }
}
