import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { shortSha256 } from './sha256.ts'

it('begins as the SHA-256 of the text does', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (text) => {
      expect(shortSha256(text)).toBe(createHash('sha256').update(text).digest('hex').slice(0, 16))
    }),
  )
})
