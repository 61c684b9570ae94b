import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { type FunctionShape, functionsIn } from './function-shape.ts'

const MAX_LINES = 80
const MAX_LETS = 8
const MAX_PARAMETERS = 4

/**
 * Functions that are longer. After making one shorter, take it off the list. Some may stay: closures of a page, which
 * minify better than classes, tables of routes, which read from top to bottom, and functions
 * of a database, each of which is one text in SQL.
 */
const LONGER: ReadonlySet<string> = new Set([
  'autosave/archive.ts#createArchive',
  'autosave/journal.ts#createPageJournal',
  'autosave/writer-lock.ts#createWriterLock',
  'cli/watch-screen.ts#openScreen',
  'core/acquire.ts#acquire',
  'core/keeper.ts#createKeeper',
  'core/manager.ts#createManager',
  'core/rare-methods.ts#rareMethods',
  'core/watch.ts#watchLeases',
  'idempotency/protection.ts#createProtection',
  'project/claim.ts#createClaim',
  'project/lock-file-store.ts#lockFileStore',
  'project/project-locks.ts#createProjectLocks',
  'stores/browser/frozen-tabs-protocol.ts#createProtocol',
  'stores/browser/gated-file.ts#gatedFile',
  'stores/browser/tab-locks.ts#tabLocks',
  'stores/memory.ts#memoryStore',
  'stores/mysql/full-transitions.ts#ask',
  'stores/mysql/queries.ts#queriesOf',
  'stores/mysql/transitions.ts#acquire',
  'stores/postgres/shared-ends.ts#free',
  'stores/postgres/shared-leases.ts#ask',
  'stores/postgres/shared-queue.ts#sharedQueue',
  'stores/postgres/transitions.ts#acquire',
  'stores/postgres/transitions.ts#release',
  'sync/indexeddb-storage.ts#indexedDbStorage',
  'sync/reader.ts#createReader',
  'sync/view.ts#createView',
  'testing/fake-browser/index.ts#fakeBrowser',
  'testing/node/describe-torture.ts#describeTorture',
])

/** Functions with more variables. */
const MORE_LETS: ReadonlySet<string> = new Set(['core/acquire.ts#acquire', 'project/claim.ts#createClaim'])

/** Functions with more parameters. Most are steps of a protocol that all take the row, the time and the effects. */
const MORE_PARAMETERS: ReadonlySet<string> = new Set([
  'base/answer-within.ts#answerWithin',
  'clients/store-error.ts#storeError',
  'core/keeper.ts#keepGrant',
  'core/watch.ts#watchLeases',
  'project/project-lease.ts#describe',
  'project/web-lock-store.ts#projectWebLockStore',
  'server/node/prometheus.ts#request',
  'stores/browser/frozen-tabs-protocol.ts#createProtocol',
  'stores/browser/gated-file.ts#gatedFile',
  'stores/browser/tab-locks.ts#request',
  'stores/etcd/rows.ts#recordOf',
  'stores/lease-row.ts#ask',
  'stores/lease-row.ts#end',
  'stores/lease-row.ts#endExpired',
  'stores/lease-row.ts#expire',
  'stores/lease-row.ts#extend',
  'stores/lease-row.ts#refuse',
  'stores/registers/transitions.ts#acquire',
  'telemetry/encode-event.ts#encodeEvent',
  'telemetry/health.ts#findFirings',
  'telemetry/plot.ts#barsOf',
])

describe('a function of the source', () => {
  const sources = globSync('src/**/*.{ts,tsx}', { cwd: root }).filter((path) => !path.includes('.test.'))
  const functions = sources.flatMap((path) => functionsIn(path, readFileSync(join(root, path), 'utf8')))

  it(`a function of the source has at most ${MAX_LINES} lines, unless it is listed`, () => {
    expect(functions.length).toBeGreaterThan(3000)
    expect(tooLarge(functions, 'lines', MAX_LINES, LONGER)).toEqual([])
  })

  it(`changes at most ${MAX_LETS} variables of its own, unless it is listed`, () => {
    expect(tooLarge(functions, 'lets', MAX_LETS, MORE_LETS)).toEqual([])
  })

  it(`a function of the source has at most ${MAX_PARAMETERS} parameters, unless it is listed`, () => {
    expect(tooLarge(functions, 'parameters', MAX_PARAMETERS, MORE_PARAMETERS)).toEqual([])
  })
})

describe('the measure', () => {
  const measure = (text: string) => functionsIn('src/a.ts', text)

  it('the measure counts the lines, variables and parameters of a function, and gives it its name', () => {
    const text =
      'export function keep(a, b) {\n  let c = 1\n  let d, e\n  return () => {\n    let f = c\n  }\n}'
    expect(measure(text)).toEqual([
      { name: 'src/a.ts#keep', lines: 7, lets: 3, parameters: 2 },
      { name: 'src/a.ts#line 4', lines: 3, lets: 1, parameters: 0 },
    ])
  })

  it('the measure names a method and a function in a constant, and leaves out the variable of a loop', () => {
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
  listed: ReadonlySet<string>,
): string[] {
  return functions
    .filter((one) => one[measure] > max && !listed.has(one.name.replace('src/', '')))
    .map((one) => `${one.name} has ${one[measure]} ${measure}`)
}
