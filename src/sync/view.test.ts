import { describe, expect, it } from 'vitest'
import type { SyncChange } from './index.ts'
import { createView } from './view.ts'

interface Item {
  readonly n: number
}

function open() {
  const changes: SyncChange[] = []
  const view = createView<Item, { theme: string }>({ theme: 'light' }, (change) => changes.push(change))
  const emitted = () => changes.splice(0)
  view.applyIndex(['a', 'b'], 1)
  view.applyEntities([['a', { n: 1 }]])
  view.applyEntities([['b', { n: 2 }]])
  view.applySettings({ theme: 'dark' })
  expect(emitted().map(({ type }) => type)).toEqual(['entity', 'entity', 'settings'])
  return { view, emitted }
}

describe('apply', () => {
  it('emits no change the second time', () => {
    const { view, emitted } = open()
    for (let time = 0; time < 2; time++) {
      view.applyIndex(['b', 'a'], 2)
      view.applyEntities([['a', { n: 1 }]])
      view.applySettings({ theme: 'dark' })
    }
    expect(emitted()).toEqual([])
    view.applyIndex(['a'], 3)
    view.applyIndex(['a'], 3)
    expect(emitted()).toEqual([{ type: 'removed', id: 'b', previous: { n: 2 } }])
  })

  it('ignores an entity that is not in the index', () => {
    const { view, emitted } = open()
    view.applyIndex(['a'], 2)
    emitted()
    view.applyEntities([['b', { n: 3 }]])
    expect(emitted()).toEqual([])
    expect(view.get('b')).toBeUndefined()
  })

  it('of an empty index clears everything, once', () => {
    const { view, emitted } = open()
    view.applyIndex([], 2)
    view.applyIndex([], 3)
    expect(emitted()).toEqual([
      {
        type: 'cleared',
        previous: [
          ['a', { n: 1 }],
          ['b', { n: 2 }],
        ],
      },
    ])
    expect(view.state.entries).toEqual([])
    view.applyIndex(['a'], 4)
    expect(view.state.entries).toEqual([])
  })

  it('keeps the same state and entries while nothing changes', () => {
    const { view } = open()
    const before = view.state
    view.applyIndex(['a', 'b'], 2)
    view.applyEntities([['a', { n: 1 }]])
    expect(view.state).toBe(before)
    view.applySettings({ theme: 'blue' })
    expect(view.state).not.toBe(before)
    expect(view.state.entries).toBe(before.entries)
    view.applyEntities([['a', { n: 2 }]])
    expect(view.state.entries).not.toBe(before.entries)
  })

  it('shows entities in the order of the index', () => {
    const { view } = open()
    view.applyIndex(['b', 'a'], 2)
    expect(view.state.entries.map(([id]) => id)).toEqual(['b', 'a'])
  })
})

describe('a record', () => {
  it('stays on top of the stored data until it is dropped', () => {
    const { view, emitted } = open()
    const delta = [
      ['a', { n: 10 }],
      ['new', { n: 20 }],
    ] as const
    view.add('r', { delta })
    view.applyEntities([['a', { n: 3 }]])
    expect(view.state.entries).toEqual([
      ['a', { n: 10 }],
      ['b', { n: 2 }],
      ['new', { n: 20 }],
    ])
    emitted()
    view.drop('r')
    expect(emitted()).toEqual([
      { type: 'entity', id: 'a', entity: { n: 3 }, previous: { n: 10 } },
      { type: 'removed', id: 'new', previous: { n: 20 } },
    ])
  })

  it('has its place in the order of all records, however late it comes', () => {
    const { view } = open()
    view.add('r2', { patch: ['a', { n: 20 }, []] })
    view.add('r1', { delta: [['a', { n: 10 }]] })
    expect(view.get('a')).toEqual({ n: 20 })
    view.add('r3', { delta: [['a', null]] })
    view.add('r4', { delta: [['a', { n: 40 }]] })
    expect(view.state.entries).toEqual([
      ['b', { n: 2 }],
      ['a', { n: 40 }],
    ])
    for (const key of ['r4', 'r3', 'r1', 'r2']) view.drop(key)
    expect(view.state.entries[0]).toEqual(['a', { n: 1 }])
  })

  it('that resets is one change, and shows all entities again when it is dropped', () => {
    const { view, emitted } = open()
    view.add('r', { reset: true })
    expect(emitted().map(({ type }) => type)).toEqual(['cleared'])
    view.drop('r')
    expect(emitted().length).toBe(2)
  })

  it('of settings stays on top of the stored settings', () => {
    const { view, emitted } = open()
    view.add('r', { settings: [{ theme: 'blue' }, []] })
    view.applySettings({ theme: 'light' })
    expect(view.state.settings).toEqual({ theme: 'blue' })
    view.drop('r')
    expect(view.state.settings).toEqual({ theme: 'light' })
    expect(emitted().length).toBe(2)
  })
})
