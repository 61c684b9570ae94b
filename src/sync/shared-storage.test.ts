/** `storage.sync`: its writes wait in `storage.local`, so a writer can die between the two. */
import { describe, expect, it } from 'vitest'
import { type FakeExtension, fakeExtension, type Item, opened } from '../../test/sync/fake-extension.ts'

describe('a writer of storage.sync that dies after each of its writes', () => {
  it('a writer of storage.sync that dies after each of its writes counts an update once', async () => {
    for (let death = 1; death <= 8; death++) {
      const extension = fakeExtension({ area: 'sync', latency: [1, 1] })
      extension.startWorker()
      const [tab] = await opened(extension, 'Tab')
      dieAtWrite(extension, death)
      const count = (id: string) =>
        extension.resolved(tab.updateEntity(id, (item) => ({ n: (item?.n ?? 0) + 1 })))
      await count('new')
      await count('new')
      await extension.settle(3000)
      expect([death, stored(extension, 'new')]).toEqual([death, { n: 2 }])
      expect(tab.get('new')).toEqual({ n: 2 })
    }
  })

  it('a writer of storage.sync that dies after each of its writes removes what it has acknowledged', async () => {
    for (let death = 1; death <= 6; death++) {
      const extension = fakeExtension({ area: 'sync', latency: [1, 1] })
      extension.startWorker()
      const [tab] = await opened(extension, 'Tab')
      await extension.resolved(tab.setEntity('a', { n: 1 }))
      await extension.settle()
      dieAtWrite(extension, death)
      await extension.resolved(tab.removeEntity('a'))
      await extension.settle(3000)
      expect([death, stored(extension, 'a')]).toEqual([death, undefined])
      expect(tab.state.entries).toEqual([])
    }
  })
})

it('a removal that meets the limit of writes per minute is completed in the next minute', async () => {
  const extension = fakeExtension({ area: 'sync', latency: [0, 0] })
  const [page] = await opened(extension, 'Page')
  await extension.resolved(page.setEntity('a', { n: 1 }))
  const { sync } = page.context.api.storage
  // 120 writes are allowed: the index can be changed, the key cannot be removed.
  for (let n = 0; n < 117; n++) await extension.resolved(sync?.set({ foreign: n }) ?? Promise.resolve())
  await extension.resolved(page.removeEntity('a'))
  expect(page.state.entries).toEqual([])
  await extension.clock.advance(130_000)
  expect(stored(extension, 'a')).toBeUndefined()
  expect(page.state.entries).toEqual([])
})

/** Kills the worker at the n-th write from now on. */
function dieAtWrite({ browser }: FakeExtension, death: number): void {
  let writes = 0
  browser.onWrite(() => {
    if (++writes === death) browser.worker?.kill()
  })
}

function stored({ browser }: FakeExtension, id: string): Item | undefined {
  return browser.items('sync')[`trackedEntity:${id}`] as Item | undefined
}
