import { describe, expect, it } from 'vitest'
import type { SyncChange } from './index.ts'
import { createView } from './view.ts'

interface Item {
  readonly n: number
}

function open() {
  const changes: SyncChange[] = []
  const view = createView<Item, { theme: string }>({ theme: 'light' }, (batch) => changes.push(...batch))
  const emitted = () => changes.splice(0)
  view.apply({ ids: ['a', 'b'], revision: 1 })
  view.apply({ entities: [['a', { n: 1 }]] })
  view.apply({ entities: [['b', { n: 2 }]] })
  view.apply({ settings: { theme: 'dark' } })
  expect(emitted().map(({ type }) => type)).toEqual(['entity', 'entity', 'settings'])
  return { view, emitted }
}

describe('apply', () => {
  it('apply emits no change the second time', () => {
    const { view, emitted } = open()
    for (let time = 0; time < 2; time++) {
      view.apply({ ids: ['b', 'a'], revision: 2 })
      view.apply({ entities: [['a', { n: 1 }]] })
      view.apply({ settings: { theme: 'dark' } })
    }
    expect(emitted()).toEqual([])
    view.apply({ ids: ['a'], revision: 3 })
    view.apply({ ids: ['a'], revision: 3 })
    expect(emitted()).toEqual([{ type: 'removed', id: 'b', previous: { n: 2 } }])
  })

  it('apply ignores an entity that is not in the index', () => {
    const { view, emitted } = open()
    view.apply({ ids: ['a'], revision: 2 })
    emitted()
    view.apply({ entities: [['b', { n: 3 }]] })
    expect(emitted()).toEqual([])
    expect(view.get('b')).toBeUndefined()
  })

  it('apply of an empty index clears everything, once', () => {
    const { view, emitted } = open()
    view.apply({ ids: [], revision: 2 })
    view.apply({ ids: [], revision: 3 })
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
    view.apply({ ids: ['a'], revision: 4 })
    expect(view.state.entries).toEqual([])
  })

  it('apply keeps the same state and entries while nothing changes', () => {
    const { view } = open()
    const before = view.state
    view.apply({ ids: ['a', 'b'], revision: 2 })
    view.apply({ entities: [['a', { n: 1 }]] })
    expect(view.state).toBe(before)
    view.apply({ settings: { theme: 'blue' } })
    expect(view.state).not.toBe(before)
    expect(view.state.entries).toBe(before.entries)
    view.apply({ entities: [['a', { n: 2 }]] })
    expect(view.state.entries).not.toBe(before.entries)
  })

  it('apply shows entities in the order of the index', () => {
    const { view } = open()
    view.apply({ ids: ['b', 'a'], revision: 2 })
    expect(view.state.entries.map(([id]) => id)).toEqual(['b', 'a'])
  })
})

describe('a record', () => {
  it('a record stays on top of the stored data until it is dropped', () => {
    const { view, emitted } = open()
    const delta = [
      ['a', { n: 10 }],
      ['new', { n: 20 }],
    ] as const
    view.apply({ add: [['r', { delta }]] })
    view.apply({ entities: [['a', { n: 3 }]] })
    expect(view.state.entries).toEqual([
      ['a', { n: 10 }],
      ['b', { n: 2 }],
      ['new', { n: 20 }],
    ])
    emitted()
    view.apply({ drop: ['r'] })
    expect(emitted()).toEqual([
      { type: 'entity', id: 'a', entity: { n: 3 }, previous: { n: 10 } },
      { type: 'removed', id: 'new', previous: { n: 20 } },
    ])
  })

  it('a record has its place in the order of all records, however late it comes', () => {
    const { view } = open()
    view.apply({ add: [['r2', { id: 'a', patch: [{ n: 20 }, []] }]] })
    view.apply({ add: [['r1', { delta: [['a', { n: 10 }]] }]] })
    expect(view.get('a')).toEqual({ n: 20 })
    view.apply({ add: [['r3', { delta: [['a', null]] }]] })
    view.apply({ add: [['r4', { delta: [['a', { n: 40 }]] }]] })
    expect(view.state.entries).toEqual([
      ['b', { n: 2 }],
      ['a', { n: 40 }],
    ])
    for (const key of ['r4', 'r3', 'r1', 'r2']) view.apply({ drop: [key] })
    expect(view.state.entries[0]).toEqual(['a', { n: 1 }])
  })

  it('a record that resets is one change, and shows all entities again when it is dropped', () => {
    const { view, emitted } = open()
    view.apply({ add: [['r', { reset: true }]] })
    expect(emitted().map(({ type }) => type)).toEqual(['cleared'])
    view.apply({ drop: ['r'] })
    expect(emitted().length).toBe(2)
  })

  it('a record of settings stays on top of the stored settings', () => {
    const { view, emitted } = open()
    view.apply({ add: [['r', { settings: [{ theme: 'blue' }, []] }]] })
    view.apply({ settings: { theme: 'light' } })
    expect(view.state.settings).toEqual({ theme: 'blue' })
    view.apply({ drop: ['r'] })
    expect(view.state.settings).toEqual({ theme: 'light' })
    expect(emitted().length).toBe(2)
  })
})
