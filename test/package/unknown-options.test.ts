import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Firestore } from '@google-cloud/firestore'
import { Etcd3 } from 'etcd3'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { memoryStore } from '../../src/stores/memory.ts'

/** The client of each backend in the scope below. */
const CLIENT: Readonly<Record<string, string>> = {
  ...{ postgres: 'pool', mysql: 'mysql', redis: 'redis', nats: 'nats', etcd: 'etcd' },
}

/** Factories and calls with options, by the module that exports them. `_` stands for an unknown option. */
const CALLS: Readonly<Record<string, readonly string[]>> = {
  'core/index': [
    'createLeases(store, _)',
    "createLeases(store).acquire('a', _)",
    "createLeases(store).tryAcquire('a', _)",
    "createLeases(store).withLease('a', work, _)",
    "createLeases(store).tryWithLease('a', work, _)",
    "createLeases(store).acquireAll(['a'], _)",
    "createLeases(store).lead('a', work, _)",
    'createLeases(store).list(_)',
    'createLeases(store).watch(_, work)',
    "createLeases(store).acquire('b').then((lease) => lease.renew(_))",
  ],
  'stores/memory': ['memoryStore(_)'],
  'stores/sqlite/index': ["sqliteStore(':memory:', _)"],
  'stores/file/index': ["fileStore('.', _)"],
  'stores/postgres/index': ['postgresStore(pool, _)', 'migratePostgres(pool, _)'],
  'stores/mysql/index': ['mysqlStore(mysql, _)', 'migrateMysql(mysql, _)'],
  'stores/etcd/index': ['etcdStore(etcd, _)'],
  'stores/redis/index': ['redisStore(redis, _)'],
  'stores/firestore/index': ['firestoreStore(firestore, _)'],
  'stores/nats/index': ['natsStore(nats, _)'],
  'stores/web/index': ['webStore(_)', 'webLockStore(_)', 'directoryStore(work, _)'],
  'client/http-store': ["httpStore('http://localhost', _)"],
  'client/index': [
    "createDocumentLock({ ..._, roomId: 'a', url: 'http://localhost' })",
    "createDocumentLock('a', { ..._, url: 'http://localhost' })",
    "createDraft(createDocumentLock('a', { url: 'http://localhost' }), _)",
  ],
  'locks/index': ['createLockManager(store, _)'],
  'guard/index': [
    'guardTable(_)',
    'sqliteGuard(database, _)',
    'postgresGuard(pool, _)',
    'mysqlGuardTable(_)',
    'mysqlGuard(mysql, _)',
  ],
  'once/index': [
    'createOnce(memoryJobs(), _)',
    "createOnce(memoryJobs()).run('a', work, _)",
    "createOnce(memoryJobs()).wait('a', _)",
    "createOnce(memoryJobs()).result('a', work, _)",
    'idOf({}, _)',
    'etcdJobs(etcd, _)',
    'memoryJobs(_)',
    'sqliteJobs(database, _)',
    'postgresJobs(pool, _)',
    'mysqlJobs(mysql, _)',
    'redisJobs(redis, _)',
    'firestoreJobs(firestore, _)',
    'createAnalysisRepo(firestore, _)',
    'createTaskHandler(createOnce(memoryJobs()), { ..._, work })',
    'memoryJobs({ statuses: _ })',
  ],
  'idempotency/index': [
    'idempotent(work, { ..._, jobs, principal: work })',
    'honoIdempotency({ ..._, jobs, principal: work })',
    'expressIdempotency({ ..._, jobs, principal: work })',
    'fastifyIdempotency({ ..._, jobs, principal: work })',
    'idempotentFetch(_)',
  ],
  'project/index': [
    'createProjectLocks(_)',
    "createProjectLocks({ namespace: 'a' }).acquireProjectLock(_)",
    "createProjectLocks({ namespace: 'a' }).acquireProjectLock({ retry: _ })",
    "createProjectLocks({ namespace: 'a' }).withProjectLock(work, _)",
  ],
  'autosave/index': ['createAutoSave({ ..._, read: work })'],
  'sync/index': [
    'createSync({ ..._, storage: memoryStorage() })',
    'createSync({ storage: memoryStorage(), validate: _ })',
    'createCoordinator({ ..._, storage: memoryStorage() })',
    'webLocks(_)',
    'chromeContext(_)',
    'chromeMessenger(_)',
  ],
  'server/index': [
    'createLockServer({ ..._, store })',
    'createChannels(_)',
    'memoryDocuments(_)',
    ...['postgres', 'mysql', 'redis', 'nats', 'etcd'].flatMap((backend) =>
      ['Parts', 'Documents', 'Audit', 'Secrets', 'Bus'].map(
        (part) => `${backend}${part}(${CLIENT[backend]}, _)`,
      ),
    ),
  ],
  'server/node/index': [
    'createServer({ ..._, store })',
    'loadSettings(_)',
    "sqliteParts(':memory:', _)",
    'sqliteDocuments(database, _)',
    'sqliteAudit(database, _)',
    'sqliteSecrets(database, _)',
  ],
  'telemetry/index': [
    'createCollector({ ..._, sinks: [] })',
    "httpSink('/telemetry', _)",
    'opfsBuffer(_)',
    'new Analysis(_)',
    "postJson('https://example.com', {}, _)",
  ],
  'telemetry/index-node': [
    "fileSink('.', _)",
    'collect({ ..._, input: [] })',
    'score(_)',
    'report(_)',
    'openTelemetryTracing(tracer, _)',
  ],
  'testing/index': [
    'chaosStore(store, _)',
    'chaosStore(store, { faults: _ })',
    'Object.assign(chaosStore(store), { faults: _ })',
    'fakeBrowser({ ..._, clock: new FakeClock() })',
    "describeStore('own', { ..._, create: open, runner })",
    "describeStore('own', { create: open, runner, supports: _ })",
  ],
  'testing/node/index': [
    "describeLifetime('own', { ..._, module: '', address: open, runner })",
    "describeTorture('own', { ..._, module: '', address: open, runner })",
    "describeTorture('own', { module: '', address: open, runner, supports: _ })",
  ],
}

const SCOPE = {
  _: { xyz: 1 },
  store: memoryStore(),
  open: () => memoryStore(),
  work: async () => {},
  jobs: (await import('../../src/once/index.ts')).memoryJobs(),
  pool: new Pool(),
  mysql: { getConnection() {} },
  redis: new Redis({ lazyConnect: true }),
  etcd: new Etcd3({ hosts: 'http://127.0.0.1:1' }),
  firestore: new Firestore(),
  nats: { isClosed() {}, status() {}, publish() {}, subscribe() {}, flush() {}, jetstream() {} },
  database: new DatabaseSync(':memory:'),
  runner: { describe() {}, it() {} },
  tracer: { trace: { getTracer() {} }, context: {}, propagation: {} },
}

describe('an unknown option is refused by name:', () => {
  const calls = Object.entries(CALLS).flatMap(([module, codes]) =>
    codes.map((code) => [code, module] as const),
  )
  it.each(calls)('%s', async (code, module) => {
    const scope = { ...SCOPE, ...(await import(join(root, 'src', `${module}.ts`))) }
    const run = new Function(...Object.keys(scope), `return ${code}`)
    const refusal = new Promise((resolve) => resolve(run(...Object.values(scope))))
    await expect(refusal).rejects.toMatchObject({
      code: 'invalid-argument',
      message: expect.stringMatching(/^`(\w+\.)?xyz`: unknown option, expected one of /),
    })
  })
})

/** What reads or writes files, listens on a port, or needs a browser or a database. */
const ACTS =
  /^(create(Server|AutoSave|ProjectLocks\(.*\)\.)|collect|score|report|post|migrate|webStore|webLock|opfs|fileSink|chrome|.*postgresStore|\w+(Parts|Documents|Audit|Secrets|Bus)\()/

describe('an option that is undefined counts as one that is absent:', () => {
  const calls = Object.entries(CALLS).flatMap(([module, codes]) =>
    codes.filter((code) => !ACTS.test(code)).map((code) => [code, module] as const),
  )
  it.each(calls)('%s', async (code, module) => {
    const exported = await import(join(root, 'src', `${module}.ts`))
    const outcomeOf = async (_: object) => {
      const scope = { ...SCOPE, ...exported, store: SCOPE.open(), _ }
      const run = new Function(...Object.keys(scope), `return ${code}`)
      try {
        const made = await run(...Object.values(scope))
        await made?.close?.()
        return 'works'
      } catch (error) {
        return (error as Error).message
      }
    }
    const refusal = await outcomeOf({ xyz: 1 })
    const names = /expected one of (.*)$/.exec(refusal)?.[1]?.split(', ') ?? []
    expect(names, refusal).not.toEqual([])
    const nothing = Object.fromEntries(names.map((name) => [name, undefined]))
    expect(await outcomeOf(nothing)).toBe(await outcomeOf({}))
  })
})

it('no options are checked without their names', () => {
  const sources = globSync('src/**/*.{ts,tsx}', { cwd: root }).filter((path) => !path.endsWith('.test.ts'))
  const unchecked = sources.filter((path) =>
    readFileSync(join(root, path), 'utf8').includes("expectObject('options'"),
  )
  expect(unchecked).toEqual([])
})
