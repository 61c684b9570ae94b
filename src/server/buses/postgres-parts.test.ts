import fc from 'fast-check'
import { expect, it } from 'vitest'
import { checkProperty } from '../../../test/property.ts'
import { Parts, partsOf } from './postgres-parts.ts'

it('any text arrives, in parts that Postgres accepts and that differ from each other', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc
      .tuple(fc.string({ unit: 'binary', minLength: 1 }), fc.nat(20_000))
      .map(([unit, n]) => unit.repeat(n / unit.length)),
  )
  checkProperty(
    fc.property(text, (text) => {
      const notifications = partsOf('sender', 7, JSON.stringify(text))
      for (const notification of notifications) expect(Buffer.byteLength(notification)).toBeLessThan(8000)
      expect(new Set(notifications).size).toBe(notifications.length)
      const parts = new Parts()
      const texts = notifications.map((notification) => parts.add(notification))
      expect(texts.pop()).toSatisfy((json: string) => JSON.parse(json) === text)
      expect(texts.every((early) => early === null)).toBe(true)
    }),
  )
})

it('parts of several senders may mix, and an incomplete text is not completed with parts of another', () => {
  const parts = new Parts()
  const [long, other] = [JSON.stringify('a'.repeat(9000)), JSON.stringify('b'.repeat(9000))]
  const [a, b] = [partsOf('a', 1, long), partsOf('b', 1, other)]
  expect([a[0], b[0], a[1], b[1]].map((part = '') => parts.add(part))).toEqual([null, null, long, other])
  parts.add(a[0] ?? '')
  const [, tail = ''] = partsOf('a', 2, other)
  expect(parts.add(tail)).not.toContain('a')
  expect(parts.add('hello')).toBeNull()
})
