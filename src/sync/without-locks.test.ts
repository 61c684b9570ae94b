/** A page without Web Locks, such as one on plain http. It is one writer, so it loses none of its own writes. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkProperty } from '../../test/property.ts'
import { createSync, memoryStorage, type StorageAdapter, type Sync } from './index.ts'

interface Item {
  readonly n: number
  readonly done?: boolean
}

type Layout = { readonly layout: 'one-key' | 'key-per-entity'; readonly shards?: number }

const LAYOUTS: readonly Layout[] = [
  { layout: 'one-key' },
  { layout: 'key-per-entity' },
  { layout: 'key-per-entity', shards: 4 },
]

/** Calls are carried out in their order, as in a browser. Their answers come in any order. */
function lateStorage(storage: StorageAdapter, schedule: fc.Scheduler): StorageAdapter {
  const late = <T>(answer: Promise<T>) => schedule.schedule(answer)
  return {
    ...storage,
    get: (keys) => late(storage.get(keys)),
    set: (items) => late(storage.set(items)),
    remove: (keys) => late(storage.remove(keys)),
    keys: () => late(storage.keys()),
  }
}

/** Does the work in one context, and returns what a page that is opened afterwards shows. */
async function storedBy(
  layout: Layout,
  schedule: fc.Scheduler,
  work: (sync: Sync<Item>) => Promise<unknown>,
) {
  const storage = memoryStorage()
  const sync = createSync<Item>({ storage: lateStorage(storage, schedule), ...layout })
  await schedule.waitFor(work(sync))
  const later = createSync<Item>({ storage, ...layout })
  await later.bootstrap()
  const stored = Object.fromEntries(later.state.entries)
  expect(Object.fromEntries(sync.state.entries)).toEqual(stored)
  return stored
}

describe.each(LAYOUTS)('one context without locks, in layout %o', (layout) => {
  const inEveryOrder = (check: (schedule: fc.Scheduler) => Promise<void>) =>
    checkProperty(fc.asyncProperty(fc.scheduler(), check), { numRuns: 60 })

  it('stores an update and a patch of the same entity that are made at once', () =>
    inEveryOrder(async (schedule) => {
      const stored = await storedBy(layout, schedule, async (sync) => {
        await sync.setEntity('a', { n: 1 })
        await Promise.all([
          sync.updateEntity('a', (entity) => ({ ...entity, n: 2 })),
          sync.patchEntity('a', { done: true }),
        ])
      })
      expect(stored).toEqual({ a: { n: 2, done: true } })
    }))

  it('stores an update of one entity beside a write of another', () =>
    inEveryOrder(async (schedule) => {
      const stored = await storedBy(layout, schedule, (sync) =>
        Promise.all([sync.updateEntity('a', () => ({ n: 1 })), sync.setEntity('b', { n: 2 })]),
      )
      expect(stored).toEqual({ a: { n: 1 }, b: { n: 2 } })
    }))

  it('stores an update whose callback writes another entity', () =>
    inEveryOrder(async (schedule) => {
      const stored = await storedBy(layout, schedule, async (sync) => {
        const written: Promise<void>[] = []
        await sync.updateEntity('a', () => {
          written.push(sync.setEntity('b', { n: 2 }))
          return { n: 1 }
        })
        await Promise.all(written)
      })
      expect(stored).toEqual({ a: { n: 1 }, b: { n: 2 } })
    }))

  it('counts five updates of one entity beside writes of others', () =>
    inEveryOrder(async (schedule) => {
      const stored = await storedBy(layout, schedule, (sync) =>
        Promise.all(
          [1, 2, 3, 4, 5].flatMap((n) => [
            sync.updateEntity('sum', (entity) => ({ n: (entity?.n ?? 0) + 1 })),
            sync.setEntity(`other ${n}`, { n }),
          ]),
        ),
      )
      expect(stored).toMatchObject({ sum: { n: 5 }, 'other 1': { n: 1 }, 'other 5': { n: 5 } })
    }))

  it('goes on after an update that fails', () =>
    inEveryOrder(async (schedule) => {
      const stored = await storedBy(layout, schedule, async (sync) => {
        const failing = sync.updateEntity('a', () => {
          throw new RangeError('no')
        })
        const [result] = await Promise.allSettled([failing, sync.updateEntity('a', () => ({ n: 1 }))])
        expect(result).toEqual({ status: 'rejected', reason: new RangeError('no') })
      })
      expect(stored).toEqual({ a: { n: 1 } })
    }))
})
