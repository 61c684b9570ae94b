import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { systemClock } from 'holdfast'
import { guardTable, sqliteGuard } from 'holdfast/guard'
import { sqliteJobs } from 'holdfast/once'
import {
  createPrivateFile,
  openSqlite,
  sqliteAudit,
  sqliteDocuments,
  sqliteParts,
  sqliteSecrets,
} from 'holdfast/server/node'
import { sqliteStore } from 'holdfast/sqlite'
import type { Backend } from '../backend.ts'
import { checkRefusedCase, guardCase } from '../guard.ts'
import { leasesCase } from '../leases.ts'
import { locksCase } from '../locks.ts'
import { FIELDS, onceCase, STATUSES } from '../once.ts'
import { auditCase, documentsCase, partsCase, secretsCase } from '../server-parts.ts'
import { storeCase } from '../store.ts'

export async function open(): Promise<Backend> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-surface-'))
  const path = join(directory, 'leases.db')
  const database = new DatabaseSync(join(directory, 'app.db'))
  return {
    cases: {
      leases: () => leasesCase(() => sqliteStore(path)),
      locks: () => locksCase(() => sqliteStore(path)),
      store: () =>
        storeCase(() => sqliteStore(path, { table: 'other', synchronous: 'full', clock: systemClock })),
      async guard() {
        database.exec(guardTable())
        database.exec(guardTable({ table: 'other_guard' }))
        for (const options of [undefined, { table: 'other_guard' }]) {
          const guard = sqliteGuard(database, options)
          await guardCase((lease) => guard.write(lease, () => {}))
          await guardCase((lease) => guard.write(database, lease, () => guard.check(lease)), 'checked')
          await checkRefusedCase(guard.check)
        }
      },
      async server() {
        createPrivateFile(join(directory, 'server.db'))
        using opened = openSqlite(join(directory, 'server.db'))
        await documentsCase(sqliteDocuments(opened))
        await documentsCase(sqliteDocuments(opened, { table: 'other_documents' }))
        await auditCase(sqliteAudit(opened))
        await auditCase(sqliteAudit(opened, { table: 'other_audit', maxEntries: 100 }))
        await secretsCase(sqliteSecrets(opened))
        await secretsCase(sqliteSecrets(opened, { table: 'other_secrets' }))
        for (const part of [sqliteDocuments, sqliteAudit, sqliteSecrets])
          part(join(directory, 'own.db')).close()
        await partsCase(sqliteParts(join(directory, 'parts.db')))
        await partsCase(sqliteParts(join(directory, 'parts.db'), { table: 'other' }))
      },
      async once() {
        const names = { table: 'tasks', columns: FIELDS, statuses: STATUSES, clock: systemClock }
        await onceCase(sqliteJobs(database), sqliteJobs(database, names), async (work) => {
          database.exec('begin immediate')
          const result = await work(database)
          database.exec('commit')
          return result
        })
      },
    },
    async [Symbol.asyncDispose]() {
      database.close()
      rmSync(directory, { recursive: true })
    },
  }
}
