import { existsSync, statfsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { redactAddress } from '../../base/redact.ts'
import { EXIT } from '../exit-codes.ts'
import { Failure, usageFailure } from '../failure.ts'
import {
  type BackendWarning,
  type OpenedStore,
  type OpenOptions,
  optional,
  type ServerParts,
} from './opened-store.ts'

/** The numbers of NFS, SMB and CIFS on Linux. */
const NETWORK_FILE_SYSTEMS = [0x6969, 0x517b, 0xff534d42, 0xfe534d42]

export async function openSqlite(address: string, options: OpenOptions): Promise<OpenedStore> {
  const { path, parameters } = parseAddress(address, options)
  // Checked here, because SQLite would only say that it cannot open the file.
  if (!existsSync(dirname(path)))
    throw new Failure(
      EXIT.unavailable,
      `the directory ${dirname(path)} does not exist; create it, or name another store with --store`,
    )
  if (options.isServed) (await import('../../server/node/index.ts')).createPrivateFile(path)
  const { sqliteStore } = await import('../../stores/sqlite/index.ts')
  const store = sqliteStore(path, {
    ...optional('table', parameters.get('table')),
    ...(options.isServed && { synchronous: 'full' }),
  })
  const { sqlite, node } = process.versions
  /** Of the jobs. */
  let database: DatabaseSync | undefined
  return {
    store,
    backendInfo: async () => ({
      version: `SQLite ${sqlite} of Node ${node}`,
      warnings: networkWarnings(path),
    }),
    serverParts: () => sqliteParts(path, path, parameters.get('table')),
    async jobs() {
      const [{ DatabaseSync }, { sqliteJobs }] = await Promise.all([
        import('node:sqlite'),
        import('../../once/index.ts'),
      ])
      database ??= new DatabaseSync(path)
      return sqliteJobs(database, { table: `${parameters.get('table') ?? 'holdfast'}_jobs` })
    },
    async close() {
      await store.close()
      database?.close()
    },
  }
}

export async function openFile(address: string, options: OpenOptions): Promise<OpenedStore> {
  const { path } = parseAddress(address, options)
  const { fileStore } = await import('../../stores/file/index.ts')
  const store = fileStore(path)
  return {
    store,
    backendInfo: async () => ({ version: `files of ${process.platform}`, warnings: networkWarnings(path) }),
    // Beside the directory, which is for leases only.
    serverParts: () => sqliteParts(`${path}.db`, path),
    close: () => store.close(),
  }
}

async function sqliteParts(file: string, path: string, table?: string | null): Promise<ServerParts> {
  const { openSqlite: open, sqliteAudit, sqliteDocuments } = await import('../../server/node/index.ts')
  const database = open(file)
  const tableFor = (part: string) => ({ table: `${table ?? 'holdfast'}_${part}` })
  return {
    documents: sqliteDocuments(database, tableFor('documents')),
    audit: sqliteAudit(database, tableFor('audit')),
    // A database in memory leaves nothing behind.
    ...(path !== ':memory:' && { secretsFile: `${path}.secrets` }),
  }
}

/** Of an address such as `sqlite:./holdfast.db?table=locks`. The path may be relative. */
function parseAddress(address: string, { mustExist = false }: OpenOptions) {
  const [, path = '', query = ''] = /^\w+:(?:\/\/(?=[/.]))?([^?]*)\??(.*)$/.exec(address) ?? []
  if (path === '')
    throw usageFailure(`${redactAddress(address)} has no path; use an address such as sqlite:./holdfast.db`)
  if (mustExist && !existsSync(path))
    throw new Failure(
      EXIT.unavailable,
      `${path} does not exist; holdfast run creates it, or name another store with --store`,
    )
  return { path, parameters: new URLSearchParams(query) }
}

/** File locks do not work reliably between machines. */
function networkWarnings(path: string): BackendWarning[] {
  const existing = [resolve(path), dirname(resolve(path))].find((candidate) => existsSync(candidate))
  if (!existing || !NETWORK_FILE_SYSTEMS.includes(statfsSync(existing).type)) return []
  return [{ text: `${path} is on a network file system`, remedy: 'use a local disk, or Postgres or Redis' }]
}
