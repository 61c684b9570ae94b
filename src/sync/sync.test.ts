import { describe, expect, it } from 'vitest'
import { fakeExtension } from '../../test/sync/fake-extension.ts'

describe('a sync', () => {
  it('shows a write at once, and in the other contexts when it is stored', async () => {
    const extension = fakeExtension()
    extension.startWorker()
    const [one, two, tab] = [extension.openPage(), extension.openPage(), extension.openTab()]
    await extension.resolved(Promise.all([one.bootstrap(), two.bootstrap(), tab.bootstrap()]))
    const written = one.setEntity('a', { n: 1 })
    expect(one.get('a')).toEqual({ n: 1 })
    expect(two.get('a')).toBeUndefined()
    await extension.resolved(written)
    await extension.settle()
    expect(two.entries()).toEqual([['a', { n: 1 }]])
    expect(tab.entries()).toEqual([['a', { n: 1 }]])
    await extension.resolved(tab.setEntity('b', { n: 2 }))
    await extension.settle()
    expect(one.entries()).toEqual([
      ['a', { n: 1 }],
      ['b', { n: 2 }],
    ])
    expect(extension.browser.items()).toEqual({
      'trackedEntities:index': { ids: ['a', 'b'] },
      'trackedEntities:meta': { revision: 2, schemaVersion: 1, shards: 1 },
      'trackedEntity:a': { n: 1 },
      'trackedEntity:b': { n: 2 },
    })
    expect(extension.warnings).toEqual([])
  })
})
