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
  view.applyEntityState('a', { n: 1 })
  view.applyEntityState('b', { n: 2 })
  view.applySettings({ theme: 'dark' })
  expect(emitted().map(({ type }) => type)).toEqual(['entity', 'entity', 'settings'])
  return { view, emitted }
}

describe('apply', () => {
  it('emits no change the second time', () => {
    const { view, emitted } = open()
    for (let time = 0; time < 2; time++) {
      view.applyIndex(['b', 'a'], 2)
      view.applyEntityState('a', { n: 1 })
      view.applySettings({ theme: 'dark' })
    }
    expect(emitted()).toEqual([])
    view.applyIndex(['a'], 3)
    view.applyIndex(['a'], 3)
    expect(emitted()).toEqual([{ type: 'removed', id: 'b' }])
  })

  it('ignores an entity that is not in the index', () => {
    const { view, emitted } = open()
    view.applyIndex(['a'], 2)
    emitted()
    view.applyEntityState('b', { n: 3 })
    expect(emitted()).toEqual([])
    expect(view.get('b')).toBeUndefined()
  })

  it('of an empty index clears everything, once', () => {
    const { view, emitted } = open()
    view.applyIndex([], 2)
    view.applyIndex([], 3)
    expect(emitted()).toEqual([{ type: 'cleared' }])
    expect(view.state.entries).toEqual([])
    view.applyIndex(['a'], 4)
    expect(view.state.entries).toEqual([])
  })

  it('keeps the same state and entries while nothing changes', () => {
    const { view } = open()
    const before = view.state
    view.applyIndex(['a', 'b'], 2)
    view.applyEntityState('a', { n: 1 })
    expect(view.state).toBe(before)
    view.applySettings({ theme: 'blue' })
    expect(view.state).not.toBe(before)
    expect(view.state.entries).toBe(before.entries)
    view.applyEntityState('a', { n: 2 })
    expect(view.state.entries).not.toBe(before.entries)
  })

  it('shows entities in the order of the index', () => {
    const { view } = open()
    view.applyIndex(['b', 'a'], 2)
    expect(view.state.entries.map(([id]) => id)).toEqual(['b', 'a'])
  })
})

describe('an edit', () => {
  it('stays on top of the stored data until it is taken back', () => {
    const { view, emitted } = open()
    const undo = view.edit(['a', 'new'], (_stored, id) => ({ n: id === 'a' ? 10 : 20 }))
    view.applyEntityState('a', { n: 3 })
    expect(view.state.entries).toEqual([
      ['a', { n: 10 }],
      ['b', { n: 2 }],
      ['new', { n: 20 }],
    ])
    emitted()
    undo()
    expect(emitted()).toEqual([
      { type: 'entity', id: 'a', entity: { n: 3 } },
      { type: 'removed', id: 'new' },
    ])
  })

  it('that clears is one change, and shows all entities again when it is taken back', () => {
    const { view, emitted } = open()
    const undo = view.clear()
    expect(emitted()).toEqual([{ type: 'cleared' }])
    undo()
    expect(emitted().length).toBe(2)
  })

  it('of settings stays on top of the stored settings', () => {
    const { view, emitted } = open()
    const undo = view.editSettings(() => ({ theme: 'blue' }))
    view.applySettings({ theme: 'light' })
    expect(view.state.settings).toEqual({ theme: 'blue' })
    undo()
    expect(view.state.settings).toEqual({ theme: 'light' })
    expect(emitted().length).toBe(2)
  })
})
