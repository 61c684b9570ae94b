import { globSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { manifest } from './manifest.ts'
import { type Packed, pack, run } from './packed.ts'

/** Parts that nobody imports by name. */
const PRIVATE_PARTS = ['src/protocol/index.ts', 'src/cli/index.ts', 'src/duration/index.ts']

const entries = Object.entries(manifest.exports).filter(([subpath]) => !/\.(json|css)$/.test(subpath))
const specifiers = entries.map(([subpath]) => subpath.replace(/^\./, 'holdfast'))

describe('the package', () => {
  let packed: Packed
  beforeAll(async () => {
    packed = await pack()
  })
  afterAll(async () => packed[Symbol.asyncDispose]())

  it.each(specifiers)('can be imported as %s', async (specifier) => {
    const code = `console.log(Object.keys(await import('${specifier}')).length)`
    expect(Number(await run(packed.consumer, 'node', '--input-type=module', '-e', code))).toBeGreaterThan(0)
  })

  it('has types that need no package but its dependencies and React', async () => {
    const imports = specifiers.map((specifier, n) => `import * as _${n} from '${specifier}'\nvoid _${n}\n`)
    const compilerOptions = {
      ...{ strict: true, exactOptionalPropertyTypes: true, noEmit: true, module: 'NodeNext' },
      lib: ['ES2024', 'ESNext.Disposable', 'DOM'],
      typeRoots: [join(root, 'node_modules/@types')],
      types: ['node'],
    }
    await writeFile(join(packed.consumer, 'package.json'), JSON.stringify({ type: 'module' }))
    await writeFile(join(packed.consumer, 'uses.ts'), imports.join(''))
    await writeFile(join(packed.consumer, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
    await run(packed.consumer, 'tsc', '-p', '.')
  })

  it('is clean by publint', async () => {
    const { messages, pkg } = await publint({
      pkgDir: join(packed.consumer, 'node_modules/holdfast'),
      pack: false,
      strict: true,
    })
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([])
  })

  it('is clean by attw', async () => {
    const sheets = Object.keys(manifest.exports).filter((subpath) => subpath.endsWith('.css'))
    await run(root, 'attw', packed.tarball, '--profile', 'esm-only', '--exclude-entrypoints', ...sheets)
  })

  it('holds no tests', () => {
    const installed = join(packed.consumer, 'node_modules/holdfast')
    expect(globSync('dist/**/*.test.*', { cwd: installed })).toEqual([])
  })
})

describe('the exports', () => {
  it('cover every part and every store of the source', () => {
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
      expect(target.types).toBe(target.default.replace(/\.js$/, '.d.ts'))
    }
  })
})
