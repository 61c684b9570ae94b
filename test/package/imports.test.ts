import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { BUNDLED } from '../../scripts/bundle-packages.ts'
import { root } from '../../scripts/run-tool.ts'
import { manifest } from './manifest.ts'
import { violations } from './rules.ts'
import { readSource } from './source-file.ts'

const packages = [...BUNDLED, ...Object.keys(manifest.peerDependencies)]
const sources = globSync('src/**/*.{ts,tsx}', { cwd: root }).toSorted()

describe('the source', () => {
  it('keeps to the import arrows and to the places for Node, browser and time', () => {
    expect(sources.length).toBeGreaterThan(20)
    const found = sources.flatMap((path) =>
      violations(readSource(path, readFileSync(join(root, path), 'utf8')), packages),
    )
    expect(found).toEqual([])
  })

  it("the source sets `hourCycle: 'h23'`, because with `hour12` some browsers show midnight as 24:00", () => {
    const files = globSync('{src,web/src}/**/*.{ts,tsx}', { cwd: root }).map((path) =>
      readSource(path, readFileSync(join(root, path), 'utf8')),
    )
    const using = (name: string) => files.filter(({ names }) => names.has(name)).map(({ path }) => path)
    expect(using('hour12')).toEqual([])
    expect(using('hourCycle')).toContain('src/react/moment-text.ts')
  })
})

describe('the rules', () => {
  it.each([
    ['src/base/a.ts', `import x from '../core/index.ts'`, 'base may not use core'],
    ['src/clients/a.ts', `import x from '../core/index.ts'`, 'clients may not use core'],
    ['src/core/a.ts', `import x from '../stores/memory.ts'`, 'core may not use stores'],
    ['src/core/a.ts', `import type { X } from 'pg'`, 'core imports no package'],
    ['src/core/a.ts', `import fs from 'node:fs'`, 'no place for Node built-ins'],
    ['src/core/a.ts', `type X = import('../server/index.ts').X`, 'core may not use server'],
    ['src/core/a.ts', `const later = setTimeout`, 'uses setTimeout'],
    ['src/core/a.ts', `const at = Date.now()`, 'uses Date'],
    ['src/core/a.ts', `const at = globalThis.performance.now(), r = Math.random()`, 'uses Math.random'],
    ['src/stores/redis/a.ts', `const shard = Math.random()`, 'uses Math.random'],
    ['src/telemetry/a.ts', `const now = Date.now()`, 'uses Date.now'],
    ['src/telemetry/a.ts', `names.sort((a, b) => a.localeCompare(b))`, 'uses localeCompare'],
    ['src/cli/a.ts', `name.toLocaleUpperCase()`, 'uses toLocaleUpperCase'],
    ['src/stores/redis/a.ts', `export { x } from '../../core/acquire.ts'`, 'not the door of core'],
    ['src/stores/redis/a.ts', `export * from '../../sync/index.ts'`, 'stores may not use sync'],
    ['src/stores/redis/a.ts', `await import('node:net')`, 'no place for Node built-ins'],
    ['src/stores/redis/a.ts', `await import('left-pad')`, 'not a dependency'],
    ['src/stores/redis/a.ts', `navigator.locks`, 'uses navigator'],
    ['src/testing/a.ts', `import x from '../stores/memory.ts'`, 'testing may not use stores'],
    ['src/testing/a.ts', `export { x } from './node/index.ts'`, 'it needs Node'],
    ['src/project/a.ts', `import x from '../stores/memory.ts'`, 'project may not use stores'],
    ['src/client/a.ts', `import '../core/state.test.ts'`, 'a test'],
    ['src/server/a.ts', `import '../cli/index.ts'`, 'not for import'],
    ['src/server/a.ts', `import '../unknown/index.ts'`, 'not for import'],
    ['src/unknown/a.ts', `import '../core/index.ts'`, 'may not use core'],
  ])('the rules refuse in %s: %s', (path, text, why) => {
    expect(violations(readSource(path, text), ['pg']).join()).toContain(why)
  })

  it.each([
    ['src/base/clock.ts', `setTimeout(() => Math.random(), Date.now())`],
    ['src/core/a.ts', `import { x } from '../base/arguments.ts'`],
    ['src/stores/redis/a.ts', `import { x } from '../../clients/redis.ts'; import '../local/calls.ts'`],
    ['src/core/a.ts', `import { b } from './b.ts'; const x = y.setTimer()`],
    ['src/stores/sqlite/a.ts', `setImmediate(flush); const at = new Date(0)`],
    ['src/cli/a.ts', `const started = performance.now()`],
    ['src/testing/node/a.ts', `import fs from 'node:fs'; import { x } from '../runner.ts'`],
    ['src/stores/sqlite/index.ts', `import fs from 'node:fs'; import { x } from '../lease-row.ts'`],
    ['src/stores/redis/a.ts', `import { x } from '../../core/index.ts'; await import('pg')`],
    ['src/stores/memory.test.ts', `import { x } from '../testing/index.ts'`],
    ['src/project/a.ts', `import { x } from '../stores/web/index.ts'`],
    ['src/cli/a.ts', `import '../server/index.ts'; import '../stores/file/index.ts'; import 'node:fs'`],
  ])('allow in %s: %s', (path, text) => {
    expect(violations(readSource(path, text), ['pg'])).toEqual([])
  })
})
