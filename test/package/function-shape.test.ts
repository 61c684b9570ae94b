import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { type FunctionShape, functionsIn } from './function-shape.ts'

const MAX_LINES = 80
const MAX_LETS = 8
const MAX_PARAMETERS = 4

/**
 * Functions that are longer, with their lines. Each either becomes shorter and leaves the list, or stays as long as it is:
 * closures of a page, which minify better than classes, and tables of routes, which read from top to bottom.
 */
const LONGER: Readonly<Record<string, number>> = {
  'autosave/archive.ts#createArchive': 91,
  'autosave/autosave.ts#createAutoSave': 270,
  'autosave/journal.ts#createPageJournal': 82,
  'autosave/writer-lock.ts#createWriterLock': 109,
  'cli/watch-screen.ts#openScreen': 99,
  'client/document-lock.ts#createDocumentLock': 146,
  'client/draft/unsaved-copy.ts#createUnsavedCopy': 108,
  'client/hand-over-requests.ts#followHandOverRequests': 86,
  'client/hold-requests.ts#createHoldRequests': 175,
  'client/holding.ts#createHolding': 250,
  'client/lock-updates.ts#followLock': 119,
  'client/room-lock.ts#openRoomLock': 150,
  'client/socket.ts#createSocket': 142,
  'core/acquire.ts#acquire': 165,
  'core/keeper.ts#createKeeper': 166,
  'core/manager.ts#createManager': 115,
  'core/rare-methods.ts#rareMethods': 111,
  'core/watch.ts#watchLeases': 140,
  'idempotency/protection.ts#createProtection': 114,
  'once/document-jobs.ts#documentJobs': 158,
  'once/etcd-jobs.ts#etcdJobs': 131,
  'once/firestore-jobs.ts#firestoreJobs': 118,
  'once/job-lock.ts#jobLock': 90,
  'once/memory-jobs.ts#memoryJobs': 89,
  'once/mysql-jobs.ts#mysqlJobs': 143,
  'once/once.ts#createOnce': 93,
  'once/postgres-jobs.ts#postgresJobs': 84,
  'once/postgres-queries.ts#jobQueries': 165,
  'once/request-jobs.ts#requestJobs': 113,
  'once/run.ts#runJob': 149,
  'once/sqlite-jobs.ts#sqliteJobs': 112,
  'once/task-handler.ts#createTaskHandler': 97,
  'project/claim.ts#createClaim': 216,
  'project/lock-file-store.ts#lockFileStore': 102,
  'project/project-locks.ts#createProjectLocks': 165,
  'react/lock-banner.tsx#contentOf': 154,
  'server/create.ts#createLockServer': 191,
  'server/handover.ts#askHolder': 81,
  'server/key-value-documents.ts#keyValueDocuments': 134,
  'server/mysql.ts#mysqlDocuments': 87,
  'server/node/prometheus.ts#prometheusMeter': 94,
  'server/routes/administration.ts#administrationRoutes': 99,
  'server/routes/contents.ts#contentRoutes': 88,
  'server/routes/locks.ts#lockRoutes': 128,
  'server/routes/pusher-api.ts#pusherApiRoutes': 131,
  'server/sql-documents.ts#sqlDocuments': 93,
  'stores/browser/frozen-tabs-protocol.ts#createProtocol': 109,
  'stores/browser/gated-file.ts#gatedFile': 120,
  'stores/browser/tab-locks.ts#tabLocks': 91,
  'stores/memory.ts#memoryStore': 84,
  'stores/mysql/full-transitions.ts#fullTransitions': 161,
  'stores/mysql/queries.ts#queriesOf': 174,
  'stores/mysql/transitions.ts#transitions': 98,
  'stores/mysql/upkeep.ts#upkeep': 223,
  'stores/postgres/queries.ts#queriesOf': 91,
  'stores/postgres/queue.ts#queue': 113,
  'stores/postgres/shared-leases.ts#sharing': 272,
  'stores/postgres/shared-queue.ts#sharedQueue': 94,
  'stores/postgres/transitions.ts#transitions': 131,
  'stores/postgres/upkeep.ts#upkeep': 187,
  'sync/indexeddb-storage.ts#indexedDbStorage': 96,
  'sync/reader.ts#createReader': 156,
  'sync/sync.ts#createSync': 94,
  'sync/view.ts#createView': 172,
  'sync/writer.ts#carryOut': 86,
  'sync/writer.ts#storageWriter': 248,
  'testing/fake-browser/index.ts#fakeBrowser': 96,
  'testing/node/describe-torture.ts#describeTorture': 111,
}

/** Functions with more variables. */
const MORE_LETS: Readonly<Record<string, number>> = {
  'client/socket.ts#createSocket': 10,
  'core/acquire.ts#acquire': 10,
  'project/claim.ts#createClaim': 10,
}

/** Functions with more parameters. Most are steps of a protocol that all take the row, the time and the effects. */
const MORE_PARAMETERS: Readonly<Record<string, number>> = {
  'base/answer-within.ts#answerWithin': 5,
  'client/http-store.ts#constructor': 5,
  'clients/store-error.ts#storeError': 5,
  'core/keeper.ts#keepGrant': 6,
  'core/watch.ts#watchLeases': 6,
  'once/document-jobs.ts#complete': 5,
  'once/mysql-jobs.ts#write': 5,
  'once/optimistic.ts#writeUnlessChanged': 5,
  'once/request-jobs.ts#complete': 5,
  'once/rules.ts#decideComplete': 5,
  'once/rules.ts#decideFinish': 5,
  'once/run.ts#runJob': 5,
  'project/project-lease.ts#describe': 5,
  'project/web-lock-store.ts#projectWebLockStore': 5,
  'react/lock-banner.tsx#contentOf': 6,
  'server/documents.ts#save': 5,
  'server/handover.ts#askHolder': 6,
  'server/key-value-documents.ts#save': 5,
  'server/mysql.ts#save': 5,
  'server/mysql.ts#set': 5,
  'server/node/prometheus.ts#request': 5,
  'server/redis.ts#save': 5,
  'server/routes/contents.ts#save': 5,
  'server/sql-documents.ts#change': 5,
  'server/sql-documents.ts#save': 5,
  'stores/browser/frozen-tabs-protocol.ts#createProtocol': 6,
  'stores/browser/gated-file.ts#gatedFile': 5,
  'stores/browser/tab-locks.ts#request': 5,
  'stores/etcd/rows.ts#recordOf': 5,
  'stores/lease-row.ts#ask': 6,
  'stores/lease-row.ts#end': 6,
  'stores/lease-row.ts#endExpired': 5,
  'stores/lease-row.ts#expire': 5,
  'stores/lease-row.ts#extend': 5,
  'stores/lease-row.ts#refuse': 5,
  'stores/registers/transitions.ts#acquire': 5,
  'sync/migrate.ts#migrate': 5,
  'sync/migrate.ts#upgrade': 5,
  'sync/writer.ts#carryOut': 5,
  'sync/writer.ts#refuse': 5,
  'telemetry/encode-event.ts#encodeEvent': 5,
  'telemetry/health.ts#findFirings': 5,
  'telemetry/plot.ts#barsOf': 5,
}

describe('a function of the source', () => {
  const sources = globSync('src/**/*.{ts,tsx}', { cwd: root }).filter((path) => !path.includes('.test.'))
  const functions = sources.flatMap((path) => functionsIn(path, readFileSync(join(root, path), 'utf8')))

  it(`has at most ${MAX_LINES} lines, unless it is listed with its length`, () => {
    expect(functions.length).toBeGreaterThan(3000)
    expect(tooLarge(functions, 'lines', MAX_LINES, LONGER)).toEqual([])
  })

  it(`changes at most ${MAX_LETS} variables of its own, unless it is listed`, () => {
    expect(tooLarge(functions, 'lets', MAX_LETS, MORE_LETS)).toEqual([])
  })

  it(`has at most ${MAX_PARAMETERS} parameters, unless it is listed`, () => {
    expect(tooLarge(functions, 'parameters', MAX_PARAMETERS, MORE_PARAMETERS)).toEqual([])
  })
})

describe('the measure', () => {
  const measure = (text: string) => functionsIn('src/a.ts', text)

  it('counts the lines, variables and parameters of a function, and gives it its name', () => {
    const text =
      'export function keep(a, b) {\n  let c = 1\n  let d, e\n  return () => {\n    let f = c\n  }\n}'
    expect(measure(text)).toEqual([
      { name: 'src/a.ts#keep', lines: 7, lets: 3, parameters: 2 },
      { name: 'src/a.ts#line 4', lines: 3, lets: 1, parameters: 0 },
    ])
  })

  it('names a method and a function in a constant, and leaves out the variable of a loop', () => {
    const text = 'class A {\n  #b() { for (let i = 0; i < 1; i++); }\n}\nconst c = (d = 1) => d'
    expect(measure(text)).toMatchObject([
      { name: 'src/a.ts#b', lets: 0 },
      { name: 'src/a.ts#c', parameters: 1 },
    ])
  })
})

function tooLarge(
  functions: readonly FunctionShape[],
  measure: 'lines' | 'lets' | 'parameters',
  max: number,
  listed: Readonly<Record<string, number>>,
): string[] {
  return functions
    .filter((one) => one[measure] > Math.max(max, listed[one.name.replace('src/', '')] ?? 0))
    .map((one) => `${one.name} has ${one[measure]} ${measure}`)
}
