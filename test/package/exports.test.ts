import { globSync, readFileSync, statSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BUNDLED } from '../../scripts/bundle-packages.ts'
import { root } from '../../scripts/run-tool.ts'
import { codeOf } from '../docs/blocks.ts'
import { filesOf, manifest } from './manifest.ts'
import { compileProject, type Packed, pack, run } from './packed.ts'
import { paste, runServer } from './pasted.ts'
import { reachedFiles } from './reached-files.ts'

/** Parts that nobody imports by name. */
const PRIVATE_PARTS = ['src/protocol/index.ts', 'src/cli/index.ts', 'src/duration/index.ts']

/** Node 22 warns of `node:sqlite`, however it is loaded. */
const WARNED_OF = ['holdfast/sqlite', 'holdfast/server/node']

const CONSUMER_OPTIONS = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  lib: ['ES2024', 'ESNext.Disposable', 'DOM'],
  typeRoots: [join(root, 'node_modules/@types')],
  types: ['node'],
}

/** Values, types, a class as both, and a generic type. */
const COMMONJS_USE = `
import { createLeases, type Lease, LeaseError } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { createSync, memoryStorage, type Sync } from 'holdfast/sync'

class Refused extends LeaseError {}
const codeOf = (error: unknown) => (error instanceof LeaseError ? error.code : undefined)
export const sync: Sync<{ n: number }> = createSync<{ n: number }>({ storage: memoryStorage() })
export const token = createLeases(memoryStore()).withLease('a', (lease: Lease) => lease.token)
export const error: LeaseError = new Refused('closed', String(codeOf(token)))
// @ts-expect-error: the types are known
createLeases(memoryStore(), { tll: '30s' })
`

const ownStore = codeOf('docs/stores/your-own.md', 'hand-made-store.ts')

/** What a store author writes to test that store, with the runner of Node. */
const OWN_SUITE = `
import { describe, it } from 'node:test'
import { describeStore, mutateStore, skewDate } from 'holdfast/testing'
import { handMadeStore } from './own-store.ts'

describeStore('own', {
  runner: { describe, it },
  supports: { queue: false, push: false },
  create: async () => ({ store: mutateStore(handMadeStore('leases.db'), 'TTL that is ignored') }),
  skewCaller: (_, ms) => skewDate(ms),
})
`
const OWN_TORTURE = `
import { describe, it } from 'node:test'
import { describeTorture } from 'holdfast/testing/node'

describeTorture('own', {
  runner: { describe, it },
  module: new URL('./own-store.ts', import.meta.url),
  address: (directory) => directory + '/leases.db',
  supports: { queue: false },
  workers: 2,
  kills: 4,
  stops: 2,
})
`

const entries = Object.entries(manifest.exports).filter(([subpath]) => !/\.(json|css)$/.test(subpath))
const specifiers = entries.map(([subpath]) => subpath.replace(/^\./, 'holdfast'))

describe('the package', () => {
  let packed: Packed
  beforeAll(async () => {
    packed = await pack()
  })
  afterAll(async () => packed[Symbol.asyncDispose]())

  it.each(specifiers)('the package can be imported as %s', async (specifier) => {
    const code = `console.log(Object.keys(await import('${specifier}')).length)`
    expect(Number(await run(packed.consumer, 'node', '--input-type=module', '-e', code))).toBeGreaterThan(0)
  })

  it('the package has types that need no package but its dependencies and React', async () => {
    const imports = specifiers.map((specifier, n) => `import * as _${n} from '${specifier}'\nvoid _${n}\n`)
    const compilerOptions = { ...CONSUMER_OPTIONS, module: 'NodeNext' }
    await writeFile(join(packed.consumer, 'package.json'), JSON.stringify({ type: 'module' }))
    await writeFile(join(packed.consumer, 'uses.ts'), imports.join(''))
    const config = JSON.stringify({ compilerOptions, files: ['uses.ts'] })
    await writeFile(join(packed.consumer, 'tsconfig.json'), config)
    await compileProject(packed.consumer)
  })

  describe('for those who write a store', () => {
    beforeAll(async () => {
      const files = { 'own-store.ts': ownStore, 'own-suite.ts': OWN_SUITE, 'own-torture.ts': OWN_TORTURE }
      await writeFile(join(packed.consumer, 'package.json'), JSON.stringify({ type: 'module' }))
      for (const [name, code] of Object.entries(files)) await writeFile(join(packed.consumer, name), code)
    })

    it('the package for those who write a store needs no types but those of Node', async () => {
      const compilerOptions = {
        ...CONSUMER_OPTIONS,
        ...{ module: 'NodeNext', lib: ['ES2023'], skipLibCheck: false, allowImportingTsExtensions: true },
      }
      const config = JSON.stringify({ compilerOptions, files: ['own-suite.ts', 'own-torture.ts'] })
      await writeFile(join(packed.consumer, 'tsconfig.store.json'), config)
      await compileProject(packed.consumer, 'tsconfig.store.json')
    })

    it('tests it with real processes', async () => {
      const output = await run(packed.consumer, 'node', '--test', 'own-torture.ts')
      expect(output).toMatch(/does not end during `await acquire`/)
      expect(output).toMatch(/have one holder at a time/)
      expect(output).toMatch(/fail 0/)
    })
  })

  it.each(Object.entries(manifest.browser))(
    'has %s for pages, which offers what the module for Node offers that pages import',
    async (node, page) => {
      const code = `for (const path of ${JSON.stringify([node, page])}) console.log(Object.keys(await import(path)).join())`
      const installed = join(packed.consumer, 'node_modules/holdfast')
      const [offered = '', inPages = ''] = (
        await run(installed, 'node', '--input-type=module', '-e', code)
      ).split('\n')
      expect(inPages).not.toBe('')
      expect(offered.split(',')).toEqual(expect.arrayContaining(inPages.split(',')))
    },
  )

  it('the package is clean by publint', async () => {
    const { messages, pkg } = await publint({
      pkgDir: join(packed.consumer, 'node_modules/holdfast'),
      pack: false,
      strict: true,
    })
    // It recommends `imports` instead of `browser`. The sources, which run without a build, have none of its paths.
    const found = messages.filter(({ code }) => code !== 'USE_EXPORTS_OR_IMPORTS_BROWSER')
    expect(found.map((message) => formatMessage(message, pkg))).toEqual([])
  })

  it('the package is clean by attw', async () => {
    const sheets = Object.keys(manifest.exports).filter((subpath) => subpath.endsWith('.css'))
    await run(root, 'attw', packed.tarball, '--profile', 'node16', '--exclude-entrypoints', ...sheets)
  })

  it('the package is loaded by require without a warning, and only once beside import', async () => {
    const names = specifiers.filter((name) => !WARNED_OF.includes(name)).map((name) => `'${name}'`)
    const code = `
      for (const name of [${names}]) if (Object.keys(require(name)).length === 0) throw new Error(name)
      process.on('warning', (warning) => { throw warning })
      import('holdfast').then(({ LeaseError }) => console.log(LeaseError === require('holdfast').LeaseError))`
    await writeFile(join(packed.consumer, 'loads.cjs'), code)
    expect(await run(packed.consumer, 'node', 'loads.cjs')).toBe('true')
  })

  it.each([
    ['node16', 'node16'],
    ['nodenext', 'nodenext'],
    ['preserve', 'bundler'],
  ])('the package has types for CommonJS with "module": "%s"', async (module, moduleResolution) => {
    await writeFile(join(packed.consumer, 'uses.cts'), COMMONJS_USE)
    const compilerOptions = { ...CONSUMER_OPTIONS, module, moduleResolution }
    const config = JSON.stringify({ compilerOptions, files: ['uses.cts'] })
    await writeFile(join(packed.consumer, 'tsconfig.commonjs.json'), config)
    await compileProject(packed.consumer, 'tsconfig.commonjs.json')
  })

  it("the package carries 'use client' in holdfast/react", () => {
    const entry = join(packed.consumer, 'node_modules/holdfast/dist/react/index.js')
    expect(readFileSync(entry, 'utf8')).toMatch(/^"use client"/)
  })

  it('the package runs the script of the README, pasted: two processes take turns', async () => {
    const file = await paste(packed.consumer, 'README.md', 'script.mjs')
    const outputs = await Promise.all([1, 2].map(() => run(packed.consumer, 'node', file)))
    expect(new Set(outputs).size).toBe(2)
    for (const output of outputs) expect(output).toMatch(/^token \d+$/)
  })

  it('the package runs the server for documents, pasted', async () => {
    await using server = await runServer(packed.consumer)
    const url = `http://127.0.0.1:${server.port}/api/documents/minutes-42/lock`
    const response = await fetch(url, { method: 'POST', headers: { origin: 'http://localhost:5173' } })
    expect(response.status).toBe(200)
    expect(response.headers.get('access-control-allow-origin')).toBe('http://localhost:5173')
  })

  it('the package needs no other package, and takes at most 3.4 MB, without the server and the command line 2 MB', () => {
    expect(manifest.dependencies).toBeUndefined()
    const installed = join(packed.consumer, 'node_modules/holdfast')
    const megabytes = (paths: Iterable<string>) =>
      [...paths].reduce((sum, path) => sum + statSync(path).size, 0) / 1e6
    const files = globSync('**/*.*', { cwd: installed }).map((name) => join(installed, name))
    const entries = Object.entries(manifest.exports).filter(([name]) => !/server|json/.test(name))
    const starts = [...entries.flatMap(([, entry]) => filesOf(entry)), ...Object.values(manifest.browser)]
    const light = reachedFiles(starts.map((path) => join(installed, path)))
    console.log(
      `the package: ${megabytes(files).toFixed(2)} MB, without the server ${megabytes(light).toFixed(2)}`,
    )
    expect(megabytes(files)).toBeLessThan(3.4)
    expect(megabytes(light)).toBeLessThan(2)
    expect(megabytes(light)).toBeGreaterThan(1.5)
  })

  it('the package has the licence of each package that is bundled in it', () => {
    const licences = readFileSync(
      join(packed.consumer, 'node_modules/holdfast/dist/packages/LICENSES.txt'),
      'utf8',
    )
    for (const name of BUNDLED) expect(licences).toContain(`${name} `)
    expect(licences).toMatch(/^ws [\d.]+ \(MIT\)\n\n\S/m)
  })

  it('the package holds no tests', () => {
    const installed = join(packed.consumer, 'node_modules/holdfast')
    expect(globSync('dist/**/*.test.*', { cwd: installed })).toEqual([])
  })
})

describe('the exports', () => {
  it('the exports cover every part and every store of the source', () => {
    const stores = globSync(['src/stores/*.ts', 'src/stores/*/index.ts'], { cwd: root }).filter(
      (path) =>
        !path.endsWith('.test.ts') &&
        /export function \w+Store\(/.test(readFileSync(join(root, path), 'utf8')),
    )
    const parts = globSync('src/*/index.ts', { cwd: root }).filter((path) => !PRIVATE_PARTS.includes(path))
    const exported = entries.map(([, target]) => (typeof target === 'string' ? target : target.default))
    const needed = [...parts, ...stores].map((path) => path.replace('src', './dist').replace('.ts', '.js'))
    expect(needed.filter((module) => !exported.includes(module))).toEqual([])
  })

  it('name types and code of the same module', () => {
    for (const [, target] of entries) {
      if (typeof target === 'string') throw new Error(`${target} has no types`)
      const module = target.default.replace(/\.js$/, '')
      expect(target).toEqual({
        require: { types: `${module}.d.cts`, default: `${module}.cjs` },
        types: `${module}.d.ts`,
        default: `${module}.js`,
      })
    }
  })
})
