import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'

/**
 * Bytes, minified and compressed, of what somebody who imports these names has to load. A `goal` is what a part should
 * weigh: it weighs more now, and may not get heavier.
 */
const budgets = [
  { part: 'core', names: ['createLeases'], bytes: 7850, goal: 6500 },
  { part: 'project', names: ['createProjectLocks'], bytes: 11_255, goal: 11_000 },
  { part: 'client', names: ['createDocumentLock'], bytes: 10_400, goal: 9000 },
  { part: 'sync', names: ['createSync', 'chromeContext'], bytes: 12_890, goal: 9000 },
]

/** How much more somebody loads who imports the lock manager instead of the core. */
const LOCKS_BYTES = 2000

describe('the size, minified and compressed', () => {
  it.each(budgets)('of $part is at most $bytes bytes', async ({ part, names, bytes, goal = bytes }) => {
    const size = await sizeOf(exportOf(part, names))
    console.log(`${part}: ${size} bytes of ${bytes}, the goal is ${goal}`)
    expect(size).toBeLessThanOrEqual(bytes)
  })

  it(`of locks is at most ${LOCKS_BYTES} bytes more than that of core`, async () => {
    const core = exportOf('core', ['createLeases'])
    const locks = exportOf('locks', ['createLockManager'])
    const [coreSize, locksSize, both] = await Promise.all([core, locks, core + locks].map(sizeOf))
    const more = Number(locksSize) - Number(coreSize)
    console.log(`locks: ${more} bytes of ${LOCKS_BYTES} more than core; both together: ${both}`)
    expect(more).toBeLessThanOrEqual(LOCKS_BYTES)
  })
})

function exportOf(part: string, names: readonly string[]): string {
  return `export { ${names} } from '${join(root, 'src', part, 'index.ts')}'\n`
}

async function sizeOf(entry: string): Promise<number> {
  await using bundle = await rolldown({
    input: 'entry',
    plugins: [
      {
        name: 'entry',
        resolveId: (id) => (id === 'entry' ? id : null),
        load: (id) => (id === 'entry' ? entry : null),
      },
    ],
  })
  const { output } = await bundle.generate({ minify: true, comments: false })
  // Chunks that are imported on demand are not loaded by a page that works.
  const loaded = output.filter((file) => file.type === 'chunk' && !file.isDynamicEntry)
  return loaded.reduce((sum, file) => sum + ('code' in file ? gzipSync(file.code).length : 0), 0)
}
