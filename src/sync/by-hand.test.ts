/**
 * The documented protocol without this library: each example is code that an application may already have, and that
 * must work together with this library in one extension.
 */
import { beforeEach, describe, expect, it, vi } from 'vitest'
import {
  changesOf,
  type FakeExtension,
  fakeExtension,
  type Item,
  opened,
  type Surface,
} from '../../test/sync/fake-extension.ts'
import { STORAGE_KEYS, SYNC_ACTIONS } from './index.ts'
import { isDeepEqual } from './json.ts'

interface Index {
  readonly ids: string[]
}

let extension: FakeExtension
let page: Surface
let chrome: Surface['context']['api']
beforeEach(async () => {
  extension = fakeExtension()
  ;[page] = await opened(extension, 'Page')
  chrome = extension.browser.openPage().api
})

/** Waits on the fake clock until the promise has settled and every context was notified. */
async function done<T>(promise: Promise<T>): Promise<T> {
  const result = await extension.resolved(promise)
  await extension.settle()
  return result
}

const storedIndex = () => extension.browser.items()['trackedEntities:index']

async function readIndexByHand(): Promise<Index> {
  const result = await chrome.storage.local.get(['trackedEntities:index'])
  return (result['trackedEntities:index'] ?? { ids: [] }) as Index
}

async function addByHand(newEntityId: string, entity: Item): Promise<void> {
  await chrome.storage.local.set({ [`trackedEntity:${newEntityId}`]: entity })
  const current = await readIndexByHand()
  const merged = { ids: [...new Set([...current.ids, newEntityId])] }
  await chrome.storage.local.set({ 'trackedEntities:index': merged })
}

async function removeByHand(removedEntityId: string): Promise<void> {
  const current = await readIndexByHand()
  const merged = { ids: current.ids.filter((id) => id !== removedEntityId) }
  await chrome.storage.local.set({ 'trackedEntities:index': merged })
}

describe('the index', () => {
  it('the index shows an id that was added by hand, and keeps it when the library adds another', async () => {
    await done(addByHand('entityA', { n: 1, checked: true }))
    expect(page.state.entries).toEqual([['entityA', { n: 1, checked: true }]])
    await done(page.setEntity('entityB', { n: 2 }))
    await done(addByHand('entityB', { n: 3 }))
    expect(storedIndex()).toEqual({ ids: ['entityA', 'entityB'] })
    expect(page.get('entityB')).toEqual({ n: 3 })
  })

  it('the index loses an id that was removed by hand, also twice, also if it never existed', async () => {
    await done(page.setEntity('entityA', { n: 1 }))
    for (const id of ['entityA', 'entityA', 'never']) await done(removeByHand(id))
    expect(page.state.entries).toEqual([])
    await done(page.removeEntity('never'))
    expect(storedIndex()).toEqual({ ids: [] })
  })
})

describe('entityDelta', () => {
  const send = (message: object) => done(chrome.runtime.sendMessage(message))

  it('entityDelta is dropped for an id that is not in the index', async () => {
    await done(chrome.storage.local.set({ 'trackedEntity:ghost': { n: 1 } }))
    const seen = changesOf(page)
    const get = vi.spyOn(page.context.api.storage.local, 'get')
    expect(await send({ action: 'entityDelta', revision: 42, delta: { ghost: { n: 1 } } })).toEqual({
      action: SYNC_ACTIONS.ack,
    })
    expect(seen).toEqual([])
    expect(get).not.toHaveBeenCalled()
  })

  it('entityDelta that is late does not replace the stored value', async () => {
    await done(page.setEntity('entityA', { n: 2 }))
    const seen = changesOf(page)
    await send({ action: 'entityDelta', revision: 42, delta: { entityA: { n: 1 } } })
    expect(page.get('entityA')).toEqual({ n: 2 })
    expect(seen).toEqual([])
  })

  it.each([
    ['entityDelta', { delta: { entityA: null } }],
    ['entityPatch', { ops: [{ op: 'remove', entityId: 'entityA' }] }],
  ])('entityDelta with a removal (%s) removes from index, cache and view', async (action, body) => {
    await done(page.setEntity('entityA', { n: 1 }))
    await done(page.setEntity('entityB', { n: 2 }))
    const seen = changesOf(page)
    await send({ action, ...body })
    expect(seen).toEqual([{ type: 'removed', id: 'entityA' }])
    expect(storedIndex()).toEqual({ ids: ['entityB'] })
  })

  it('entityDelta with a removal before the end of the bootstrap is applied after it', async () => {
    await done(addByHand('entityA', { n: 1 }))
    page.context.kill()
    const late = extension.openPage()
    const bootstrapped = late.bootstrap()
    expect(await send({ action: 'entityDelta', delta: { entityA: null } })).toEqual({
      action: SYNC_ACTIONS.ack,
    })
    await done(bootstrapped)
    expect(late.state.entries).toEqual([])
    expect(storedIndex()).toEqual({ ids: [] })
  })

  it('entityDelta with a removal that is older than the stored entity removes nothing', async () => {
    await done(page.setEntity('entityA', { n: 1 }))
    await done(page.removeEntity('entityA'))
    await done(page.setEntity('entityA', { n: 2 }))
    await send({ action: 'entityDelta', revision: 2, delta: { entityA: null } })
    expect(page.get('entityA')).toEqual({ n: 2 })
  })

  it('entityDelta from the library has the documented format', async () => {
    const received: unknown[] = []
    chrome.runtime.onMessage.addListener((message) => {
      received.push(message)
      return undefined
    })
    await done(page.setEntity('entityA', { n: 1 }))
    await done(page.setEntity('entityB', { n: 2 }))
    await done(page.patchEntity('entityA', { checked: true }))
    await done(page.removeEntity('entityA'))
    await done(page.removeEntity('entityA', 'entityB'))
    expect(received).toEqual([
      { action: 'entityDelta', revision: 1, delta: { entityA: { n: 1 } } },
      { action: 'entityDelta', revision: 2, delta: { entityB: { n: 2 } } },
      { action: 'entityDelta', delta: { entityA: { n: 1, checked: true } } },
      { action: 'entityDelta', revision: 3, delta: { entityA: null } },
      {
        action: 'entityPatch',
        revision: 4,
        ops: [
          { op: 'remove', entityId: 'entityA' },
          { op: 'remove', entityId: 'entityB' },
        ],
      },
    ])
  })
})

describe('storage.onChanged', () => {
  it('storage.onChanged updates a hand-written view key by key, without an endless loop', async () => {
    const localCache = new Map<string, unknown>()
    const dom: string[] = []
    function applyEntityState(entityId: string, newValue: unknown) {
      const cached = localCache.get(entityId)
      if (isDeepEqual(cached, newValue)) return
      localCache.set(entityId, newValue)
      dom.push(`${entityId} ${JSON.stringify(newValue)}`)
    }
    function applyIndex({ ids }: Index) {
      if (ids.length > 0 || localCache.size === 0) return
      localCache.clear()
      dom.push('cleared')
    }
    chrome.storage.onChanged.addListener((changes, area) => {
      if (area !== 'local') return
      for (const key in changes) {
        if (key.startsWith('trackedEntity:')) {
          const entityId = key.replace('trackedEntity:', '')
          if (changes[key]?.newValue) applyEntityState(entityId, changes[key].newValue)
        } else if (key === 'trackedEntities:index') applyIndex(changes[key]?.newValue as Index)
        else if (key === 'syncSettings') dom.push('settings')
      }
    })
    await done(page.setEntity('entityA', { n: 1 }))
    await done(page.setEntity('entityA', { n: 1 }))
    await done(page.updateSettings({ featureEnabled: false }))
    await done(page.reset())
    expect(dom).toEqual(['entityA {"n":1}', 'settings', 'cleared'])
  })

  it('storage.onChanged of an index that was emptied by hand clears cache and view', async () => {
    await done(page.setEntity('entityA', { n: 1 }))
    const seen = changesOf(page)
    await done(chrome.storage.local.set({ 'trackedEntities:index': { ids: [] } }))
    await done(chrome.storage.local.set({ 'trackedEntities:index': { ids: [] } }))
    expect(seen).toEqual([{ type: 'cleared' }])
  })
})

describe('orphans', () => {
  async function cleanupOrphanedEntityKeys() {
    const validIds = new Set((await readIndexByHand()).ids)
    const allKeys = Object.keys(await chrome.storage.local.get(null))
    const orphanKeys = allKeys.filter(
      (key) => key.startsWith('trackedEntity:') && !validIds.has(key.replace('trackedEntity:', '')),
    )
    if (orphanKeys.length > 0) await chrome.storage.local.remove(orphanKeys)
  }

  async function cleanupByIndexDiff(previousIds: string[], currentIds: string[]) {
    const removed = previousIds.filter((id) => !currentIds.includes(id))
    const orphanKeys = removed.map((id) => `trackedEntity:${id}`)
    if (orphanKeys.length > 0) await chrome.storage.local.remove(orphanKeys)
  }

  it.each([
    ['by hand, with a scan', cleanupOrphanedEntityKeys],
    [
      'by hand, by the difference of two indexes',
      () => cleanupByIndexDiff(['entityA', 'orphan'], ['entityA']),
    ],
    ['by the library', () => page.cleanupOrphans()],
  ])('orphans are removed %s, and nothing else', async (_how, cleanup: () => Promise<unknown>) => {
    await done(page.setEntity('entityA', { n: 1 }))
    await done(chrome.storage.local.set({ 'trackedEntity:orphan': { n: 2 }, foreign: 3 }))
    await done(cleanup())
    expect(Object.keys(extension.browser.items()).toSorted()).toEqual([
      'foreign',
      STORAGE_KEYS.index,
      STORAGE_KEYS.meta,
      'trackedEntity:entityA',
    ])
    expect(page.state.entries).toEqual([['entityA', { n: 1 }]])
  })
})
