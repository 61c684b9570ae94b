/** State that pages of an extension share, in Chromium: beside bare `chrome.storage` and other libraries. */
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { createSync, memoryStorage } from '../src/sync/index.ts'
import { type LoadedExtension, loadExtension } from '../test/browser/loaded-extension.ts'
import { runScenario } from '../test/browser/run-scenario.ts'
import { compareRates, printTable, quantile, rateTable } from './measure.ts'
import type { scenarios } from './sync/page.ts'
import type { SharedName } from './sync/stores.ts'

const SIZES = [100, 1000, 10_000]
const ROUNDS = 15
const WRITES = 150
const ADDS = 50
const CONTEXTS = 4
const OPERATIONS = 60
const CLOSED_PAGES = 10
const QUEUED = 1200
/** The bare storage first: the others are compared with it. */
const NAMES: readonly (readonly [name: SharedName, title: string])[] = [
  ['bare', 'bare chrome.storage'],
  ['holdfast', 'holdfast/sync'],
  ['plasmo', '@plasmohq/storage'],
  ['wxt', '@wxt-dev/storage'],
]

type Scenarios = typeof scenarios
const ask = <N extends keyof Scenarios>(page: Page, name: N, ...args: Parameters<Scenarios[N]>) =>
  runScenario<Scenarios, N>(page, name, ...args)

export async function run(): Promise<void> {
  await compareSizes()
  const extension = await loadExtension(join(import.meta.dirname, 'sync'))
  try {
    const costs = []
    for (const size of SIZES) costs.push(await measureSize(extension, size))
    printTable('bootstrap, and one change, by the number of entities', [
      [
        '',
        'bare get ms',
        'bootstrap ms',
        '× bare',
        'bare set p50 ms',
        'write p50 ms',
        'seen p50 ms',
        'seen p99 ms',
      ],
      ...costs,
    ])
    printTable('p50 in ms of one add, set and removal, by the number of entities', [
      ['', '', 'bare set', 'add', 'set', 'remove', 'slowest × bare set'],
      ...(await measureOperations(extension)),
    ])
    await compareLibraries(extension)
  } finally {
    await extension[Symbol.asyncDispose]()
  }
}

/** In memory, so that nothing but the sync itself is measured. */
async function compareSizes(): Promise<void> {
  const contenders = SIZES.map(async (size) => {
    const sync = createSync<{ n: number }>({ storage: memoryStorage() })
    await sync.setEntities(Array.from({ length: size }, (_, n) => [`entity-${n}`, { n }]))
    let n = 0
    return { name: `with ${size} entities`, run: () => sync.setEntity('entity-7', { n: n++ }) }
  })
  const rates = await compareRates(await Promise.all(contenders))
  printTable('one change in memory', rateTable(rates, `with ${SIZES[0]} entities`))
}

async function measureSize(extension: LoadedExtension, size: number): Promise<string[]> {
  return withPages(extension, async (writer, reader) => {
    await ask(writer, 'fill', 'holdfast', size)
    const rounds = []
    for (let round = 0; round < ROUNDS; round++) rounds.push(await ask(reader, 'bootstrap', size))
    const bare = quantile(
      rounds.map((round) => round.bare),
      0.5,
    )
    const ours = quantile(
      rounds.map((round) => round.ours),
      0.5,
    )
    const { written, seen } = await measureWrites(writer, reader, 'holdfast', 'entity-7')
    const ratio = (bare / ours).toFixed(2)
    const bareSet = await ask(writer, 'write', 'bare', 'entity-7', WRITES)
    return [
      `${size} entities`,
      bare.toFixed(1),
      ours.toFixed(1),
      ratio,
      ...figures(bareSet, [0.5]),
      ...figures(written, [0.5]),
      ...figures(seen, [0.5, 0.99]),
    ]
  })
}

async function measureOperations(extension: LoadedExtension): Promise<string[][]> {
  const rows: string[][] = []
  for (const size of SIZES)
    for (const [name, title] of NAMES)
      await withPages(extension, async (writer) => {
        await ask(writer, 'fill', name, size)
        const { bare, add, set, remove } = await ask(writer, 'operations', name, OPERATIONS)
        const medians = [bare, add, set, remove].map((times) => quantile(times, 0.5))
        const ratio = (Math.max(...medians) / quantile(bare, 0.5)).toFixed(1)
        rows.push([`${size} entities`, title, ...medians.map((ms) => ms.toFixed(1)), ratio])
      })
  return rows
}

async function compareLibraries(extension: LoadedExtension): Promise<void> {
  const rows: string[][] = []
  for (const [name, title] of NAMES)
    await withPages(extension, async (writer, reader) => {
      const { written, seen } = await measureWrites(writer, reader, name, 'entity-7')
      const queued = await ask(writer, 'queued', name, QUEUED)
      const kept = await countKept(extension, reader, name)
      const lost = await countLost(extension, [writer, reader], name)
      const times = [...figures(written, [0.5]), ...figures(seen, [0.5, 0.99]), queued.toFixed(0)]
      rows.push([title, ...times, `${kept} of ${CLOSED_PAGES}`, `${lost} of ${CONTEXTS * ADDS}`])
    })
  printTable(
    `pages of one extension: one change, ${QUEUED} queued writes, pages that close at once, added ids`,
    [['', 'write p50 ms', 'seen p50 ms', 'seen p99 ms', 'queued ms', 'kept', 'lost'], ...rows],
  )
}

/** Writes of pages that close in the same turn. */
async function countKept(extension: LoadedExtension, reader: Page, name: SharedName): Promise<number> {
  const ids = Array.from({ length: CLOSED_PAGES }, (_, n) => `closed-${n}`)
  for (const id of ids) {
    const page = await extension.open('page.html')
    const closed = page.waitForEvent('close')
    await ask(page, 'writeAndClose', name, id).catch(() => {})
    await closed
  }
  await new Promise((resolve) => setTimeout(resolve, 500))
  return ask(reader, 'kept', name, ids)
}

/** Ids that are missing after several pages have added some at the same time. */
async function countLost(
  extension: LoadedExtension,
  pages: readonly Page[],
  name: SharedName,
): Promise<number> {
  const more = await Promise.all(
    Array.from({ length: CONTEXTS - pages.length }, () => extension.open('page.html')),
  )
  const all = [...pages, ...more]
  await Promise.all(all.map((page, n) => ask(page, 'add', name, `by-${n}-`, ADDS)))
  await new Promise((resolve) => setTimeout(resolve, 500))
  const added = (await ask(all[0] as Page, 'ids', name)).filter((id) => id.startsWith('by-'))
  for (const page of more) await page.close()
  return CONTEXTS * ADDS - added.length
}

async function measureWrites(writer: Page, reader: Page, name: SharedName, id: string) {
  await ask(writer, 'write', name, id, 1)
  await ask(reader, 'listen', name, id)
  const written = await ask(writer, 'write', name, id, WRITES)
  return { written, seen: await ask(reader, 'heard') }
}

async function withPages<T>(
  extension: LoadedExtension,
  work: (writer: Page, reader: Page) => Promise<T>,
): Promise<T> {
  const [writer, reader] = [await extension.open('page.html'), await extension.open('page.html')]
  await ask(writer, 'clear')
  const result = await work(writer, reader)
  await writer.close()
  await reader.close()
  return result
}

function figures(times: readonly number[], quantiles: readonly number[]): string[] {
  return quantiles.map((q) => quantile(times, q).toFixed(1))
}
