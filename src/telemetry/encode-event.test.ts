import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { checkProperty } from '../../test/property.ts'
import { createPseudonyms } from './encode-event.ts'

it('the pseudonym of a name never changes for the same salt', () => {
  expect(createPseudonyms('a')('mika@example.com')).toBe('89609d94df5896a6')
})

it('a pseudonym is the start of the SHA-256 of salt and name', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 200 })
  checkProperty(
    fc.property(text, text, (salt, name) => {
      const digest = createHash('sha256').update(`${salt}\0${name}`).digest('hex')
      expect(createPseudonyms(salt)(name)).toBe(digest.slice(0, 16))
    }),
  )
})
