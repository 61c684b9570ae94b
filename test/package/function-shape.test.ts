import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { type FunctionShape, functionsIn } from './function-shape.ts'

const MAX_LINES = 80
const MAX_LETS = 8
const MAX_PARAMETERS = 4

const IN_A_PAGE = 'a class is larger in a page, and the part is at its ceiling in size.test.ts'
const SMALL = 'functions of at most 30 lines over two variables, which read from top to bottom'
const SQL = 'one function of the database, which a person can read and paste as one text'
const STEP = 'a step of the protocol: all steps take the row, the time and the effects in this order'

/** Functions that are longer, with the reason. */
const LONGER: Readonly<Record<string, string>> = {
  'core/acquire.ts#acquire': IN_A_PAGE,
  'core/keeper.ts#createKeeper': `${IN_A_PAGE}; a class is 160 bytes more, two closures 200`,
  'core/manager.ts#createManager': IN_A_PAGE,
  'project/claim.ts#createClaim': IN_A_PAGE,
  'project/project-locks.ts#createProjectLocks': IN_A_PAGE,
  'sync/reader.ts#createReader': IN_A_PAGE,
  'sync/view.ts#createView': IN_A_PAGE,
  'stores/browser/tab-locks.ts#tabLocks': SMALL,
  'stores/browser/frozen-tabs-protocol.ts#createProtocol': SMALL,
  'stores/browser/gated-file.ts#gatedFile': SMALL,
  'stores/mysql/full-transitions.ts#ask': SQL,
  'stores/mysql/transitions.ts#acquire': SQL,
  'stores/postgres/shared-ends.ts#free': SQL,
  'stores/postgres/shared-leases.ts#ask': SQL,
  'stores/postgres/shared-queue.ts#sharedQueue': SQL,
  'stores/postgres/transitions.ts#acquire': SQL,
  'stores/postgres/transitions.ts#release': SQL,
  'testing/fake-browser/index.ts#fakeBrowser': 'the methods of a fake, which nobody extends',
  'testing/node/describe-torture.ts#describeTorture': 'a list of tests, which reads from top to bottom',
}

/** Functions with more variables, with the reason. */
const MORE_LETS: Readonly<Record<string, string>> = {
  'core/acquire.ts#acquire': IN_A_PAGE,
  'project/claim.ts#createClaim': IN_A_PAGE,
}

/** Functions with more parameters, with the reason. */
const MORE_PARAMETERS: Readonly<Record<string, string>> = {
  'base/answer-within.ts#answerWithin': 'the last two are optional',
  'clients/store-error.ts#storeError': 'public in holdfast/store-kit; the last two are optional',
  'project/project-lease.ts#describe': 'the last two are optional',
  'project/web-lock-store.ts#projectWebLockStore': IN_A_PAGE,
  'server/node/prometheus.ts#request': 'the Meter of the server, which is called for every request',
  'stores/browser/frozen-tabs-protocol.ts#createProtocol': IN_A_PAGE,
  'stores/browser/gated-file.ts#gatedFile': IN_A_PAGE,
  'stores/browser/tab-locks.ts#request': 'the last one is optional',
  'stores/lease-row.ts#ask': STEP,
  'stores/lease-row.ts#end': STEP,
  'stores/lease-row.ts#endExpired': STEP,
  'stores/lease-row.ts#expire': STEP,
  'stores/lease-row.ts#extend': STEP,
  'stores/lease-row.ts#refuse': STEP,
  'stores/registers/transitions.ts#acquire': STEP,
}

const sources = globSync('src/**/*.{ts,tsx}', { cwd: root }).filter((path) => !path.includes('.test.'))
const functions = sources.flatMap((path) => functionsIn(path, readFileSync(join(root, path), 'utf8')))

describe('a function of the source', () => {
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

describe('the lists', () => {
  it.each([
    ['lines', MAX_LINES, LONGER],
    ['lets', MAX_LETS, MORE_LETS],
    ['parameters', MAX_PARAMETERS, MORE_PARAMETERS],
  ] as const)('every function that is listed for its %s has more than the limit', (measure, max, listed) => {
    const larger = new Set(functions.filter((one) => one[measure] > max).map(({ name }) => name))
    expect(Object.keys(listed).filter((name) => !larger.has(`src/${name}`))).toEqual([])
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
  listed: Readonly<Record<string, string>>,
): string[] {
  return functions
    .filter((one) => one[measure] > max && !(one.name.replace('src/', '') in listed))
    .map((one) => `${one.name} has ${one[measure]} ${measure}`)
}
