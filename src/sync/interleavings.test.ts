import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkProperty } from '../../test/property.ts'
import { fakeExtension, type Item, type Surface } from '../../test/sync/fake-extension.ts'
import { type RegisterOperation, registerViolations, replicaViolations } from '../testing/history/index.ts'
import { STORAGE_KEYS } from './index.ts'

const ids = ['a', 'b:b', '日本']
const step = fc.record({
  act: fc.oneof(
    { weight: 8, arbitrary: fc.constant('set' as const) },
    { weight: 2, arbitrary: fc.constant('patch' as const) },
    { weight: 5, arbitrary: fc.constant('remove' as const) },
    { weight: 1, arbitrary: fc.constantFrom('reset', 'cleanup', 'settings') },
    { weight: 1, arbitrary: fc.constantFrom('open', 'close', 'kill', 'killWorker') },
  ),
  by: fc.nat(20),
  id: fc.constantFrom(...ids),
  pause: fc.constantFrom(0, 0, 1, 7, 40),
})
const world = fc.record({
  seed: fc.nat(),
  steps: fc.array(step, { minLength: 5, maxLength: 40 }),
  flavour: fc.constantFrom('chrome', 'firefox'),
  area: fc.constantFrom('local', 'sync'),
  layout: fc.constantFrom('one-key', 'key-per-entity'),
  shards: fc.constantFrom(1, 3),
})
type World = typeof world extends fc.Arbitrary<infer W> ? W : never

describe('contexts that write, die, and receive messages late, twice or not at all', () => {
  it('contexts that write, die, and receive messages late, twice or not at all agree with the storage and lose nothing, with the lock', async () => {
    await checkProperty(
      fc.asyncProperty(world, async (world) => {
        const { run, surfaces, stored, settings } = await play(world, true)
        expect(run.broken).toEqual([])
        expect(registerViolations(run.history, new Map([...stored].map(([id, { n }]) => [id, n])))).toEqual(
          [],
        )
        expect(replicaViolations(shownBy(surfaces), stored)).toEqual([])
        for (const surface of surfaces) {
          expect(surface.settings.themeToken).toBe(settings)
        }
      }),
      { numRuns: 150 },
    )
  })

  it('contexts that write, die, and receive messages late, twice or not at all agree with the storage, without the lock', async () => {
    await checkProperty(
      fc.asyncProperty(world, async (world) => {
        const { surfaces, stored } = await play(world, false)
        expect(replicaViolations(shownBy(surfaces), stored)).toEqual([])
      }),
      { numRuns: 100 },
    )
  })
})

async function play({ seed, steps, flavour, area, layout, shards }: World, withLocks: boolean) {
  const random = mulberry32(seed)
  let calm = false
  const extension = fakeExtension({
    random,
    flavour,
    area,
    withLocks,
    latency: [0, 20],
    messageLatency: [0, 120],
    deliveries: () => (calm ? 1 : ([0, 1, 1, 2][Math.floor(random() * 4)] ?? 1)),
    sync: { layout, ...(layout === 'key-per-entity' && { shards }) },
  })
  const { browser, clock } = extension
  extension.startWorker()
  const run = { history: [] as RegisterOperation[], broken: [] as string[] }
  browser.onWrite(() => {
    if (withLocks) run.broken.push(...idsWithoutEntity(browser.items(area)))
  })

  const open = (kind: 'Page' | 'Tab') => {
    const surface = extension[`open${kind}`]()
    if (withLocks) watchForReturns(surface, run)
    return surface
  }
  const surfaces = [open('Page'), open('Page'), open('Tab')]
  for (const { act, by, id, pause } of steps) {
    const surface = surfaces[by % surfaces.length]
    if (act === 'open' || !surface) surfaces.push(open(by % 2 ? 'Page' : 'Tab'))
    else if (act === 'killWorker') browser.worker?.kill()
    else if (act === 'kill' || act === 'close') {
      surfaces.splice(surfaces.indexOf(surface), 1)
      if (act === 'kill') surface.context.kill()
      else surface.close()
    } else perform(surface, act, id, run.history, () => clock.now())
    await clock.advance(pause)
  }
  calm = true
  await clock.advance(60_000)
  for (const surface of surfaces) await extension.resolved(surface.bootstrap())
  await clock.advance(2000)
  const items = browser.items(area)
  const { themeToken } = (items[STORAGE_KEYS.settings] ?? { themeToken: '#6441a5' }) as { themeToken: string }
  return { run, surfaces, stored: entitiesIn(items, area), settings: themeToken }
}

function shownBy(surfaces: readonly Surface[]): Map<string, ReadonlyMap<string, Item>> {
  return new Map(surfaces.map(({ context, state }, n) => [`${context.kind} ${n}`, new Map(state.entries)]))
}

type Act = 'set' | 'patch' | 'remove' | 'reset' | 'cleanup' | 'settings'

function perform(
  surface: Surface,
  act: string,
  id: string,
  history: RegisterOperation[],
  now: () => number,
): void {
  const n = history.length
  const acts: Record<Act, () => Promise<unknown>> = {
    set: () => surface.setEntity(id, { n }),
    patch: () => surface.patchEntity(id, { checked: n % 2 === 0 }),
    remove: () => surface.removeEntity(id),
    reset: () => surface.reset(),
    cleanup: () => surface.cleanupOrphans(),
    settings: () => surface.updateSettings({ themeToken: `#${String(n).padStart(6, '0')}` }),
  }
  const done = acts[act as Act]()
  if (act === 'cleanup' || act === 'settings') return void done.catch(() => {})
  const operation: RegisterOperation = {
    kind: act as RegisterOperation['kind'],
    id: act === 'reset' ? undefined : id,
    n,
    start: now(),
    end: Infinity,
  }
  history.push(operation)
  done.then(
    () => {
      operation.end = now()
    },
    // A patch of a missing entity did nothing. After another failure it is unknown whether the write was done.
    () => {},
  )
}

/**
 * A value that was stored and then removed must not be shown again. The write of a value that is not yet stored may
 * still come after the removal.
 */
function watchForReturns(
  surface: Surface,
  { history, broken }: { history: RegisterOperation[]; broken: string[] },
): void {
  const shown = new Map<string, number>()
  const gone = new Set<number>()
  const isStored = (n: number) => history.some((operation) => operation.n === n && operation.end < Infinity)
  surface.subscribe((change) => {
    if (change.type === 'entity') {
      shown.set(change.id, change.entity.n)
      if (gone.has(change.entity.n)) broken.push(`${change.id} (${change.entity.n}) came back`)
    }
    const removed = change.type === 'removed' ? [shown.get(change.id) ?? -1] : []
    if (change.type === 'cleared') removed.push(...shown.values())
    for (const n of removed) if (isStored(n)) gone.add(n)
  })
}

function idsIn(items: Record<string, unknown>): string[] {
  return Object.entries(items).flatMap(([key, value]) =>
    key.startsWith(STORAGE_KEYS.index) ? (value as { ids: string[] }).ids : [],
  )
}

function idsWithoutEntity(items: Record<string, unknown>): string[] {
  return idsIn(items)
    .filter((id) => !(STORAGE_KEYS.entityPrefix + id in items))
    .map((id) => `${id} is in the index without its key`)
}

/** In `storage.sync` an entity exists as long as its key does. */
function entitiesIn(items: Record<string, unknown>, area: string): Map<string, Item> {
  const all = (items[STORAGE_KEYS.all] ?? {}) as Record<string, Item>
  const { entityPrefix } = STORAGE_KEYS
  const keys = Object.keys(items).filter((key) => key.startsWith(entityPrefix))
  const ids = area === 'sync' ? keys.map((key) => key.slice(entityPrefix.length)) : idsIn(items)
  const indexed = ids.map((id) => [id, items[STORAGE_KEYS.entityPrefix + id] as Item] as const)
  return new Map([...Object.entries(all), ...indexed.filter(([, item]) => item)])
}

function mulberry32(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
