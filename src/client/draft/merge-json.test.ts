import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkProperty } from '../../../test/property.ts'
import { mergeJson } from './merge-json.ts'

describe('a three-way merge of JSON', () => {
  it('a three-way merge of JSON keeps the fields that each side has changed, added or removed', () => {
    const base = { title: 'Plan', tags: ['a'], owner: { name: 'Mika', room: 1 }, old: true }
    const mine = { title: 'The plan', tags: ['a'], owner: { name: 'Mika', room: 2 }, old: true, mine: 1 }
    const theirs = { title: 'Plan', tags: ['a', 'b'], owner: { name: 'Ken', room: 1 }, theirs: 1 }
    const merged = {
      title: 'The plan',
      tags: ['a', 'b'],
      owner: { name: 'Ken', room: 2 },
      mine: 1,
      theirs: 1,
    }
    expect(mergeJson<unknown>(base, mine, theirs)).toEqual({ mine: merged, theirs: merged, overlaps: 0 })
  })

  it('a three-way merge of JSON merges lists by their items, and long texts by their words', () => {
    const base = { steps: [{ id: 1 }, { id: 2 }, { id: 3 }], text: 'one\ntwo\nthree' }
    const mine = { steps: [{ id: 0 }, { id: 1 }, { id: 2 }, { id: 3 }], text: 'ONE\ntwo\nthree' }
    const theirs = { steps: [{ id: 1 }, { id: 2 }], text: 'one\ntwo\nTHREE' }
    const merged = { steps: [{ id: 0 }, { id: 1 }, { id: 2 }], text: 'ONE\ntwo\nTHREE' }
    expect(mergeJson<unknown>(base, mine, theirs)).toEqual({ mine: merged, theirs: merged, overlaps: 0 })
  })

  it('a three-way merge of JSON asks about a field that both have changed, and never mixes short texts', () => {
    const outcome = mergeJson({ id: 'x-1', n: 1 }, { id: 'y-1', n: 2 }, { id: 'x-2', n: 1 })
    expect(outcome).toEqual({ mine: { id: 'y-1', n: 2 }, theirs: { id: 'x-2', n: 2 }, overlaps: 1 })
  })

  it('a three-way merge of JSON asks about a field that one side has removed and the other has changed', () => {
    const outcome = mergeJson<unknown>({ a: 1, b: 1 }, { b: 1 }, { a: 2, b: 1 })
    expect(outcome).toEqual({ mine: { b: 1 }, theirs: { a: 2, b: 1 }, overlaps: 1 })
  })

  it('a three-way merge of JSON changes no prototype', () => {
    const mine = JSON.parse('{ "__proto__": { "isAdmin": true } }')
    const outcome = mergeJson<object>({}, mine, { a: 1 })
    expect(Object.hasOwn(outcome.mine, '__proto__')).toBe(true)
    expect(Object.getPrototypeOf(outcome.mine)).toBe(Object.prototype)
  })

  it('a three-way merge of JSON has nothing to ask if only one side has changed, and the same outcome for both sides', () => {
    const json = fc.jsonValue({ maxDepth: 3 })
    checkProperty(
      fc.property(json, json, json, (base, mine, theirs) => {
        expect(mergeJson(base, mine, base)).toEqual({ mine, theirs: mine, overlaps: 0 })
        expect(mergeJson(base, base, theirs)).toEqual({ mine: theirs, theirs, overlaps: 0 })
        const outcome = mergeJson(base, mine, theirs)
        const turned = mergeJson(base, theirs, mine)
        expect(outcome).toEqual({ mine: turned.theirs, theirs: turned.mine, overlaps: turned.overlaps })
      }),
    )
  })
})
