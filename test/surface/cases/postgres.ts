import assert from 'node:assert/strict'
import {
  expectWritten,
  fenceAllows,
  guardTable,
  type PostgresQueryClient,
  postgresGuard,
} from 'holdfast/guard'
import { postgresJobs } from 'holdfast/once'
import { inspectPostgres, migratePostgres, type PostgresClient, postgresStore } from 'holdfast/postgres'
import {
  migrateServer,
  postgresAudit,
  postgresBus,
  postgresDocuments,
  postgresParts,
  postgresSecrets,
} from 'holdfast/server'
import { type Backend, unique } from './backend.ts'
import { checkRefusedCase, guardCase } from './guard.ts'
import { leasesCase } from './leases.ts'
import { locksCase } from './locks.ts'
import { FIELDS, type InTransaction, onceCase, STATUSES } from './once.ts'
import { auditCase, busCase, documentsCase, partsCase, secretsCase } from './server-parts.ts'
import { storeCase } from './store.ts'

/** The search path of the client begins with an empty schema. */
export function postgresCases(
  client: PostgresClient & PostgresQueryClient,
  run: (statement: string) => Promise<unknown>,
  inTransaction: InTransaction,
): Backend['cases'] {
  return {
    leases: () => leasesCase(() => postgresStore(client)),
    locks: () => locksCase(() => postgresStore(client)),
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
    async guard() {
      await run(guardTable())
      await run(guardTable({ table: 'other_guard' }))
      for (const options of [undefined, { table: 'other_guard' }]) {
        const guard = postgresGuard(client, options)
        await guardCase((lease) => guard.write(lease, () => {}))
        await guardCase(
          (lease) =>
            guard.write(client, lease, (transaction) =>
              postgresGuard(transaction as PostgresQueryClient, options).check(lease),
            ),
          'checked',
        )
        await checkRefusedCase(guard.check)
      }
      await run('create table document (key text, fence bigint, fence_id text)')
      await run("insert into document values ('42', 33, 'lease-33')")
      await run(`update document set fence = 34 where ${fenceAllows('34', "'lease-34'")}`)
      expectWritten({ resource: 'document', token: 34, id: 'lease-34' }, 1)
    },
    async server() {
      await migrateServer(client)
      await run(`create role ${unique}_role`)
      const tables = { leases: 'l', documents: 'd', audit: 'a', secrets: 's' }
      await migrateServer(client, { schema: `${unique}_server`, ...tables, grantTo: `${unique}_role` })
      await run(`drop schema ${unique}_server cascade`)
      await run(`drop role ${unique}_role`)
      await documentsCase(postgresDocuments(client))
      await documentsCase(postgresDocuments(client, { table: 'other_documents' }))
      await auditCase(postgresAudit(client))
      await auditCase(postgresAudit(client, { table: 'other_audit', maxEntries: 100 }))
      await secretsCase(postgresSecrets(client))
      await secretsCase(postgresSecrets(client, { table: 'other_secrets' }))
      await busCase(() => postgresBus(client))
      await partsCase(postgresParts(client))
      await partsCase(postgresParts(client, { schema: unique, table: 'other_parts', listen: client }))
      await busCase(() => postgresBus(client, { channel: 'other_bus', listen: client }))
    },
    async once() {
      const names = { schema: unique, table: 'tasks', columns: FIELDS, statuses: STATUSES, prepare: true }
      await onceCase(postgresJobs(client), postgresJobs(client, names), inTransaction)
    },
  }
}
