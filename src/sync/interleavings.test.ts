import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkProperty } from '../../test/property.ts'
import { fakeExtension, type Item, type Surface } from '../../test/sync/fake-extension.ts'
import { type Act, entitiesIn, idsWithoutEntity, SurfaceHistory } from '../../test/sync/surface-history.ts'
import { replicaViolations } from '../testing/history/index.ts'
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
        const { history, broken, surfaces, stored, settings } = await play(world, true)
        expect(broken).toEqual([])
        expect(history.violations(stored)).toEqual([])
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
  const history = new SurfaceHistory(() => clock.now())
  const broken: string[] = []
  browser.onWrite(() => {
    if (withLocks) broken.push(...idsWithoutEntity(browser.items(area)))
  })

  const open = (kind: 'Page' | 'Tab') => {
    const surface = extension[`open${kind}`]()
    if (withLocks) history.watch(surface)
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
    } else history.perform(surface, act as Act, id).catch(() => {})
    await clock.advance(pause)
  }
  calm = true
  await clock.advance(60_000)
  for (const surface of surfaces) await extension.resolved(surface.bootstrap())
  await clock.advance(2000)
  const items = browser.items(area)
  const { themeToken } = (items[STORAGE_KEYS.settings] ?? { themeToken: '#6441a5' }) as { themeToken: string }
  return { history, broken, surfaces, stored: entitiesIn(items, area), settings: themeToken }
}

function shownBy(surfaces: readonly Surface[]): Map<string, ReadonlyMap<string, Item>> {
  return new Map(surfaces.map(({ context, state }, n) => [`${context.kind} ${n}`, new Map(state.entries)]))
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
