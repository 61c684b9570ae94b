import { expect, it } from 'vitest'
import { lostInJson } from './json-value.ts'

it.each([
  [{ a: [1, 'x', null, true, { b: undefined }] }],
  ['text'],
  [Object.assign(Object.create(null), { a: 1 })],
  [
    new (class Scene {
      title = 'one'
    })(),
  ],
])('JSON keeps %o', (value) => expect(lostInJson(value)).toBeNull())

it.each([
  [new Map([['a', 1]]), 'value: a Map'],
  [{ saved: { at: new Date(0) } }, 'saved.at: a Date'],
  [{ scenes: [{}, { tags: new Set(['x']) }] }, 'scenes[1].tags: a Set'],
  [{ length: Number.NaN }, 'length: NaN'],
  [[1, undefined], '[1]: undefined'],
  [{ at: -Infinity }, 'at: -Infinity'],
  [{ run: () => 1 }, 'run: a function'],
  [{ a: { b: Symbol('x') } }, 'a.b: Symbol(x)'],
  [{ bytes: new Uint8Array(2) }, 'bytes: an Uint8Array'],
])('JSON would change %o', (value, lost) => expect(lostInJson(value)).toBe(lost))
