import { expect, it } from 'vitest'
import { formatKey, parseKey } from './key.ts'

it.each([
  ['"8e03978e-40d5-43dd-bc93-6894a57f9324"', '8e03978e-40d5-43dd-bc93-6894a57f9324'],
  ['  "a b"  ', 'a b'],
  [String.raw`"a\"b\\c"`, String.raw`a"b\c`],
  ['"a";v=1;w="x;y";t=token/x;b=:aGk=:;f=?1;d=@1659578233;n=-1.5;s=%"caf%c3%a9";*k', 'a'],
  [`"${'k'.repeat(255)}"`, 'k'.repeat(255)],
])('a key in quotes is read in both formats: %s', (header, key) => {
  expect([parseKey(header, 'any'), parseKey(header, 'strict')]).toEqual([key, key])
})

it.each(['8e03978e-40d5-43dd-bc93-6894a57f9324', 'order_42:charge/1+2=3', "it's"])(
  'a key without quotes is read unless the format is strict: %s',
  (header) => {
    expect([parseKey(header, 'any'), parseKey(header, 'strict')]).toEqual([header, null])
  },
)

it.each([
  ...['', ' ', '""', '"a', 'a"', '"a" b', '"a", "b"', 'a, b', 'a b', 'a;v=1', 'ü', '"ü"', '"a\tb"'],
  ...[String.raw`"a\b"`, String.raw`a\b`, '"a";', '"a";V=1', '"a";v=', '"a";v="', 'k'.repeat(256)],
  `"${'k'.repeat(256)}"`,
])('a malformed header has no key: %s', (header) => {
  expect([parseKey(header, 'any'), parseKey(header, 'strict')]).toEqual([null, null])
})

it('a key that is written is read again', () => {
  for (const key of ['a', 'a b', String.raw`"\"`]) expect(parseKey(formatKey(key), 'strict')).toBe(key)
})

it('a long malformed header is refused without trying all ways to read it', () => {
  expect(parseKey(`"${'a'.repeat(60_000)}"${';a=1'.repeat(60_000)};`, 'any')).toBe(null)
  expect(parseKey(`"${'a'.repeat(60_000)}`, 'any')).toBe(null)
})
