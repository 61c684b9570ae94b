import { type ExpectedCell, type ExpectedRow, PROSE, type TableCheck } from './compare-table.ts'
import { type Member, membersOf, withoutReason } from './declarations.ts'

/** The interfaces that declare the options of each table: `file#Interface`. */
export const OPTION_TABLES: Readonly<Record<string, readonly string[]>> = {
  'docs/autosave.md#Options': ['src/autosave/options.ts#AutoSaveOptions'],
  'docs/client.md#Options': ['src/client/options.ts#DocumentLockOptions'],
  'docs/client.md#What is typed 4': ['src/client/draft/options.ts#DraftOptions'],
  'docs/guide.md#The manager': [
    'src/core/options.ts#LeaseOptions owner ttl heartbeat wait retry',
    'src/core/options.ts#LeasesOptions',
  ],
  'docs/guide.md#The manager 2': [
    'src/core/options.ts#LeaseOptions mode share atLeast lockDelay metadata signal',
  ],
  'docs/idempotency.md#Options': ['src/idempotency/options.ts#IdempotencyOptions'],
  'docs/idempotency.md#The client': ['src/idempotency/options.ts#IdempotentFetchOptions'],
  'docs/once.md#Behind a queue 2': [
    'src/once/options.ts#TaskHandlerOptions',
    'src/once/options.ts#RunOptions add ttl heartbeat callTimeout maxAttempts',
  ],
  'docs/once.md#One result for everybody who asks': ['src/once/options.ts#ResultOptions'],
  'docs/once.md#Options': ['src/once/options.ts#OnceOptions'],
  'docs/once.md#Options 2': ['src/once/options.ts#RunOptions'],
  'docs/project-lock.md#Options': ['src/project/options.ts#ProjectLocksOptions'],
  'docs/project-lock.md#Options 2': [
    'src/project/options.ts#AcquireLockOptions',
    'src/project/options.ts#AcquireProjectLockOptions',
  ],
  'docs/server.md#In another server': [
    'src/server/options.ts#LockServerOptions',
    'src/server/node/options.ts#ServerOptions',
  ],
  'docs/sync.md#Options': ['src/sync/options.ts#SyncBaseOptions', 'src/sync/options.ts#SyncOptions'],
  'docs/sync.md#Testing': ['src/testing/fake-browser/index.ts#FakeBrowserOptions'],
  'docs/telemetry.md#Collect 2': ['src/telemetry/options.ts#CollectorOptions'],
  'docs/telemetry.md#Files': ['src/telemetry/options.ts#FileSinkOptions'],
  'docs/telemetry.md#Pages': ['src/telemetry/options.ts#HttpSinkOptions'],
  'docs/testing.md#A store of your own': ['src/testing/describe-store.ts#DescribeStoreOptions'],
  'docs/testing.md#Real processes': [
    'src/testing/node/describe-lifetime.ts#LifetimeOptions',
    'src/testing/node/describe-torture.ts#TortureOptions',
  ],
  'docs/websocket.md#A server of your own': ['src/server/channels/options.ts#ChannelsOptions'],
  'docs/websocket.md#A server of your own 2': ['src/server/node/options.ts#SocketsOptions'],
  'docs/stores/etcd.md#Options': ['src/stores/etcd/options.ts#EtcdStoreOptions'],
  'docs/stores/file.md#Options': ['src/stores/file/options.ts#FileStoreOptions'],
  'docs/stores/firestore.md#Options': ['src/stores/firestore/options.ts#FirestoreStoreOptions'],
  'docs/stores/http.md#Options': ['src/client/options.ts#HttpStoreOptions'],
  'docs/stores/memory.md#Options': ['src/stores/options.ts#MemoryStoreOptions'],
  'docs/stores/mysql.md#Options': [
    'src/stores/mysql/options.ts#MysqlTable',
    'src/stores/mysql/options.ts#MysqlStoreOptions',
  ],
  'docs/stores/nats.md#Options': ['src/stores/nats/options.ts#NatsStoreOptions'],
  'docs/stores/postgres.md#Options': [
    'src/stores/postgres/options.ts#PostgresTable',
    'src/stores/postgres/options.ts#PostgresStoreOptions',
  ],
  'docs/stores/redis.md#Options': ['src/stores/redis/options.ts#RedisStoreOptions'],
  'docs/stores/sqlite.md#Options': ['src/stores/sqlite/options.ts#SqliteStoreOptions'],
  'docs/stores/web.md#Options': [
    'src/stores/web/options.ts#WebLockStoreOptions',
    'src/stores/web/options.ts#WebStoreOptions',
  ],
  'docs/stores/web.md#Options 2': ['src/stores/web/options.ts#DirectoryStoreOptions'],
}

/** The parts whose calls wait, by the interface that declares `wait`. */
const WAITS: Readonly<Record<string, string>> = {
  createLeases: 'src/core/options.ts#LeaseOptions wait',
  'once.result': 'src/once/options.ts#ResultOptions wait',
  'once.wait': 'src/once/options.ts#WaitOptions wait',
  idempotent: 'src/idempotency/options.ts#IdempotencyOptions wait',
  'lock.acquire': 'src/client/options.ts#AcquireDocumentOptions wait',
  createAutoSave: 'src/autosave/options.ts#AutoSaveOptions wait',
  webLocks: 'src/sync/options.ts#WebLocksOptions wait',
}

const WAIT_CHECK: TableCheck = {
  table: 'docs/guide.md#Waiting',
  about: 'the call',
  nameOf: (cell) => /`(.*?)`/.exec(cell)?.[1] ?? cell,
  rows: () =>
    Object.entries(WAITS).map(([call, source]) => {
      const [option] = optionsOf(source)
      if (!option) throw new Error(`${source} is not declared`)
      return [call, usualCell(option), PROSE]
    }),
}

/** Every option has a row, with the default of its comment. */
const TABLE_CHECKS: readonly TableCheck[] = Object.entries(OPTION_TABLES).map(([table, sources]) => ({
  table,
  about: 'the option',
  nameOf: (cell) => cell.replaceAll('`', '').replace(/\(.*/, ''),
  rows: () =>
    sources
      .flatMap(optionsOf)
      .map(
        (option): ExpectedRow =>
          table.endsWith('manager 2') ? [option.name, PROSE] : [option.name, usualCell(option), PROSE],
      ),
}))

export const OPTION_CHECKS: readonly TableCheck[] = [WAIT_CHECK, ...TABLE_CHECKS]

/** `file#Interface`, and then the names of some of its members if not all are meant. */
export function optionsOf(source: string): Member[] {
  const [declaration = '', ...names] = source.split(' ')
  const [file = '', name = ''] = declaration.split('#')
  return membersOf(file, name).filter((member) => names.length === 0 || names.includes(member.name))
}

function usualCell({ name, isOptional, usual }: Member): ExpectedCell {
  const unsaid = name === 'clock' ? "the system's" : 'none'
  return { means: usual ?? (isOptional ? unsaid : 'required'), meaning: sameValue }
}

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  second: 1000,
  m: 60_000,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
}

/** The same value may be written as `'500ms'`, 500 ms or 500, and as `true` or true. */
export function sameValue(cell: string): string {
  const text = withoutReason(cell).replace(/[`']/g, '').trim()
  const [, amount = '', unit = ''] = /^(\d[\d ]*(?:\.\d+)?) ?(ms|seconds?|s|m|MiB|GiB)?$/.exec(text) ?? []
  if (amount)
    return String(Number(amount.replaceAll(' ', '')) * (UNITS[unit.replace('seconds', 'second')] ?? 1))
  return ['none', 'required'].includes(text) ? '' : text
}
