import assert from 'node:assert/strict'
import { inspectPostgres, migratePostgres, type PostgresClient, postgresStore } from 'holdfast/postgres'
import { type Backend, unique } from './backend.ts'
import { leasesCase } from './leases.ts'
import { storeCase } from './store.ts'

/** The search path of the client begins with an empty schema. */
export function postgresCases(client: PostgresClient): Backend['cases'] {
  return {
    leases: () => leasesCase(() => postgresStore(client)),
    async store() {
      const table = { schema: unique, table: 'other' }
      await migratePostgres(client)
      await migratePostgres(client, table)
      assert.equal((await inspectPostgres(client)).state, 'complete')
      assert.equal((await inspectPostgres(client, table)).state, 'complete')
      await storeCase(() =>
        postgresStore(client, { ...table, listen: client, migrate: false, maxInFlight: 2 }),
      )
    },
  }
}
