import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkProperty } from '../../test/property.ts'
import { compareUtf8 } from './utf8-order.ts'

describe('compareUtf8', () => {
  it('orders like UTF-8 bytes', () => {
    const text = fc.string({ unit: 'binary' }).filter((one) => one.isWellFormed())
    checkProperty(
      fc.property(text, text, (a, b) => {
        expect(Math.sign(compareUtf8(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)))
      }),
    )
  })
})
