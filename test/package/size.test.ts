import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { type OutputOptions, rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { type Packed, pack } from './packed.ts'

/**
 * Bytes, minified and compressed, of what somebody who imports these names from the installed package has to load. A
 * `goal` is what a part should weigh: it weighs more now, and may not get heavier.
 */
const budgets = [
  { part: 'holdfast', names: ['createLeases'], bytes: 7935, goal: 6500 },
  { part: 'holdfast/project', names: ['createProjectLocks'], bytes: 11_255, goal: 11_000 },
  { part: 'holdfast/client', names: ['createDocumentLock'], bytes: 10_425, goal: 9000 },
  { part: 'holdfast/sync', names: ['createSync', 'chromeContext'], bytes: 12_890, goal: 9000 },
]

/** How much more somebody loads who imports the lock manager instead of the core. */
const LOCKS_BYTES = 2000

const core = importing('holdfast', ['createLeases'])
const client = importing('holdfast/client', ['createDocumentLock'])
const required = `exports.lock = require('holdfast/client').createDocumentLock`

/** The figures that pages state, in the order of the text. */
const figures = [
  { page: 'README.md', sentence: /weighs ([\d.]+) kB/, measured: [() => sizeOf(core)] },
  {
    page: 'docs/project-lock.md',
    sentence: /^([\d.]+) kB, minified/m,
    measured: [() => sizeOf(importing('holdfast/project', ['createProjectLocks']))],
  },
  {
    page: 'docs/client.md',
    sentence: /^- ([\d.]+) kB, minified .* as one file ([\d.]+) kB.* `require` ([\d.]+) kB/m,
    measured: [
      () => sizeOf(client),
      () => sizeOf(client, { codeSplitting: false }),
      () => sizeOf(required, { codeSplitting: false }),
    ],
  },
]

let packed: Packed
beforeAll(async () => {
  packed = await pack()
})
afterAll(() => packed?.[Symbol.asyncDispose]())

describe('the size of the package, minified and compressed', () => {
  it.each(budgets)('of $part is at most $bytes bytes', async ({ part, names, bytes, goal }) => {
    const size = await sizeOf(importing(part, names))
    console.log(`${part}: ${size} bytes of ${bytes}, the goal is ${goal}`)
    expect(size).toBeLessThanOrEqual(bytes)
  })

  it(`of holdfast/locks is at most ${LOCKS_BYTES} bytes more than that of the core`, async () => {
    const locks = importing('holdfast/locks', ['createLockManager'])
    const [coreSize, locksSize, both] = await Promise.all(
      [core, locks, core + locks].map((entry) => sizeOf(entry)),
    )
    const more = Number(locksSize) - Number(coreSize)
    console.log(`locks: ${more} bytes of ${LOCKS_BYTES} more than core; both together: ${both}`)
    expect(more).toBeLessThanOrEqual(LOCKS_BYTES)
  })

  it.each(figures)('is what $page says', async ({ page, sentence, measured }) => {
    const [, ...stated] = sentence.exec(readFileSync(join(root, page), 'utf8')) ?? []
    const sizes = await Promise.all(measured.map((measure) => measure()))
    expect(stated).toEqual(sizes.map((size) => (size / 1000).toFixed(1)))
  })
})

// With `require`, esbuild and webpack keep every module whole that is imported, used or not.
it('the document lock of a page imports no module of Valibot, not even one that a bundler could leave out', async () => {
  const { modules } = await bundle(required, { codeSplitting: false })
  expect(modules.some((id) => id.includes('/holdfast/dist/client/'))).toBe(true)
  expect(modules.filter((id) => id.includes('valibot'))).toEqual([])
})

function importing(part: string, names: readonly string[]): string {
  return `export { ${names} } from '${part}'\n`
}

async function sizeOf(entry: string, options: OutputOptions = {}): Promise<number> {
  return (await bundle(entry, options)).bytes
}

/** Bundles the entry in a project that has installed the package, as the bundler of Vite does. */
async function bundle(entry: string, options: OutputOptions) {
  const file = join(packed.consumer, entry.includes('require(') ? 'entry.cjs' : 'entry.mjs')
  const modules: string[] = []
  await using build = await rolldown({
    input: file,
    platform: 'browser',
    plugins: [
      {
        name: 'entry',
        load: (id) => (id === file ? entry : null),
        resolveId: (id) => (id === file ? id : null),
        moduleParsed: ({ id }) => void modules.push(id),
      },
    ],
  })
  const { output } = await build.generate({ minify: true, comments: false, ...options })
  // Chunks that are imported on demand are not loaded by a page that works.
  const loaded = output.filter((file) => file.type === 'chunk').filter((chunk) => !chunk.isDynamicEntry)
  return { modules, bytes: loaded.reduce((sum, { code }) => sum + gzipSync(code).length, 0) }
}
