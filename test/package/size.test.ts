import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { BUNDLERS, type Bundler, modulesOf, withEsbuild, withRolldown } from './bundlers.ts'
import { manifest } from './manifest.ts'
import { type Packed, pack } from './packed.ts'

/**
 * Bytes, minified and compressed, of what a page loads at once that imports these names from the installed package.
 * What is imported on demand does not count: a page that needs none of it never loads it. With
 * `require`, a bundler keeps every export of the part, so that size is only printed.
 */
const PARTS = [
  { part: 'holdfast', names: ['createLeases'], ceiling: 7200 },
  // At most 1 kB more than the core.
  { part: 'holdfast/locks', names: ['createLockManager'], ceiling: 8200 },
  { part: 'holdfast/project', names: ['createProjectLocks'], ceiling: 11_000 },
  { part: 'holdfast/client', names: ['createDocumentLock'], ceiling: 9500 },
  { part: 'holdfast/sync', names: ['createSync', 'chromeContext'], ceiling: 10_500 },
  // The client alone: the rest is for servers.
  { part: 'holdfast/idempotency', names: ['idempotentFetch'], ceiling: 2500 },
]

/** A part that has less than this share of its ceiling left should be made smaller before something is added. */
const SLACK = 0.02

const importing = (part: string, names: readonly string[]) => `export { ${names} } from '${part}'\n`
const requiring = (part: string, names: readonly string[]) =>
  names.map((name) => `exports.${name} = require('${part}').${name}\n`).join('')

/** Every entry of the package. */
const entries = Object.keys(manifest.exports)
  .filter((subpath) => !/\.(json|css)$/.test(subpath))
  .map((subpath) => subpath.replace(/^\./, 'holdfast'))

let packed: Packed
beforeAll(async () => {
  packed = await pack()
})
afterAll(() => packed?.[Symbol.asyncDispose]())

describe('what a page loads, minified and compressed', () => {
  it.each(PARTS)(
    'the size of $part stays within its limit with every bundler, in a project of ES modules',
    async (row) => {
      const { part, names, ceiling } = row
      const sizes: Record<string, number> = {}
      for (const [name, bundle] of Object.entries(BUNDLERS)) {
        sizes[name] = (await bundle(packed.consumer, importing(part, names))).atOnce
        sizes[`${name}, with require`] = (await bundle(packed.consumer, requiring(part, names))).atOnce
      }
      const atOnce = Object.keys(BUNDLERS).map((name) => sizes[name] as number)
      const largest = Math.max(...atOnce)
      console.log(`${part}: ceiling ${ceiling}, ${JSON.stringify(sizes)}`)
      if (largest > ceiling * (1 - SLACK)) console.warn(`${part} has less than 2 % left`)
      expect(largest).toBeLessThanOrEqual(ceiling)
    },
  )
})

/** They use files, processes or ports. */
const NODE_ONLY = /^holdfast\/(sqlite|file|.*\/node)$/

it.each(entries.filter((entry) => !NODE_ONLY.test(entry)))(
  'a bundle of %s for a page or a worker needs nothing of Node, and misses no name',
  async (entry) => {
    const size = await withEsbuild(packed.consumer, `export * from '${entry}'\n`)
    expect(size.atOnce).toBeGreaterThan(0)
  },
)

/** The figures that pages state, in the order of the text. */
const figures: readonly {
  readonly page: string
  readonly sentence: RegExp
  readonly measured: readonly (() => Promise<number>)[]
}[] = [
  {
    page: 'docs/install.md',
    sentence: /weighs ([\d.]+) kB/,
    measured: [() => atOnce('holdfast', 'createLeases')],
  },
  {
    page: 'docs/project-lock.md',
    sentence: /^([\d.]+) kB, minified/m,
    measured: [() => atOnce('holdfast/project', 'createProjectLocks')],
  },
  {
    page: 'docs/client.md',
    sentence: /^- ([\d.]+) kB, minified .* as one file ([\d.]+) kB.* `require` ([\d.]+) kB/m,
    measured: [
      () => atOnce('holdfast/client', 'createDocumentLock'),
      async () =>
        (await withRolldown(packed.consumer, importing('holdfast/client', ['createDocumentLock']))).oneFile,
      async () =>
        (await withRolldown(packed.consumer, requiring('holdfast/client', ['createDocumentLock']))).oneFile,
    ],
  },
]

async function atOnce(part: string, name: string, bundle: Bundler = withRolldown): Promise<number> {
  return (await bundle(packed.consumer, importing(part, [name]))).atOnce
}

it.each(figures)('$page states the sizes as they are, to 3 %', async ({ page, sentence, measured }) => {
  const [, ...stated] = sentence.exec(readFileSync(join(root, page), 'utf8')) ?? []
  const sizes = await Promise.all(measured.map((measure) => measure()))
  expect(stated).toHaveLength(sizes.length)
  for (const [n, size] of sizes.entries())
    expect(
      Math.abs(Number(stated[n]) * 1000 - size),
      `${page} states ${stated[n]} kB for ${size} bytes`,
    ).toBeLessThan(size * 0.03)
})

// With `require`, esbuild and webpack keep every module whole that is imported, used or not.
it('the document lock of a page imports no module of Valibot, not even one that a bundler could leave out', async () => {
  const modules = await modulesOf(packed.consumer, requiring('holdfast/client', ['createDocumentLock']))
  expect(modules.some((id) => id.includes('/holdfast/dist/client/'))).toBe(true)
  expect(modules.filter((id) => id.includes('valibot'))).toEqual([])
})
