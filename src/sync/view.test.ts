import { describe, expect, it } from 'vitest'
import type { SyncChange } from './index.ts'
import { createView } from './view.ts'

interface Item {
  readonly n: number
}

function open() {
  const changes: SyncChange[] = []
  const view = createView<Item, { theme: string }>({ theme: 'light' }, (change) => changes.push(change))
  const told = () => changes.splice(0)
  view.applyIndex(['a', 'b'], 1)
  view.applyEntityState('a', { n: 1 })
  view.applyEntityState('b', { n: 2 })
  view.applySettings({ theme: 'dark' })
  expect(told().map(({ type }) => type)).toEqual(['entity', 'entity', 'settings'])
  return { view, told }
}

describe('apply', () => {
  it('tells of nothing the second time', () => {
    const { view, told } = open()
    for (let time = 0; time < 2; time++) {
      view.applyIndex(['b', 'a'], 2)
      view.applyEntityState('a', { n: 1 })
      view.applySettings({ theme: 'dark' })
    }
    expect(told()).toEqual([])
    view.applyIndex(['a'], 3)
    view.applyIndex(['a'], 3)
    expect(told()).toEqual([{ type: 'removed', id: 'b' }])
  })

  it('takes nothing of an entity that is not in the index', () => {
    const { view, told } = open()
    view.applyIndex(['a'], 2)
    told()
    view.applyEntityState('b', { n: 3 })
    expect(told()).toEqual([])
    expect(view.get('b')).toBeUndefined()
  })

  it('of an empty index clears everything, once', () => {
    const { view, told } = open()
    view.applyIndex([], 2)
    view.applyIndex([], 3)
    expect(told()).toEqual([{ type: 'cleared' }])
    expect(view.entries()).toEqual([])
    view.applyIndex(['a'], 4)
    expect(view.entries()).toEqual([])
  })

  it('gives the same array of entries while they are the same', () => {
    const { view } = open()
    const before = view.entries()
    view.applyIndex(['a', 'b'], 2)
    view.applyEntityState('a', { n: 1 })
    expect(view.entries()).toBe(before)
    view.applyEntityState('a', { n: 2 })
    expect(view.entries()).not.toBe(before)
  })

  it('shows entities in the order of the index', () => {
    const { view } = open()
    view.applyIndex(['b', 'a'], 2)
    expect(view.entries().map(([id]) => id)).toEqual(['b', 'a'])
  })
})

describe('an edit', () => {
  it('stays over what is read until it is taken back', () => {
    const { view, told } = open()
    const undo = view.edit(['a', 'new'], (_stored, id) => ({ n: id === 'a' ? 10 : 20 }))
    view.applyEntityState('a', { n: 3 })
    expect(view.entries()).toEqual([
      ['a', { n: 10 }],
      ['b', { n: 2 }],
      ['new', { n: 20 }],
    ])
    told()
    undo()
    expect(told()).toEqual([
      { type: 'entity', id: 'a', entity: { n: 3 } },
      { type: 'removed', id: 'new' },
    ])
  })

  it('that clears is one change, and brings all back', () => {
    const { view, told } = open()
    const undo = view.clear()
    expect(told()).toEqual([{ type: 'cleared' }])
    undo()
    expect(told().length).toBe(2)
  })

  it('of settings lies over what is read as well', () => {
    const { view, told } = open()
    const undo = view.editSettings(() => ({ theme: 'blue' }))
    view.applySettings({ theme: 'light' })
    expect(view.settings).toEqual({ theme: 'blue' })
    undo()
    expect(view.settings).toEqual({ theme: 'light' })
    expect(told().length).toBe(2)
  })
})
