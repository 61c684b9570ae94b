import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkProperty } from '../../../test/property.ts'
import { keyOf, nameOf } from './names.ts'

describe('the key of a name', () => {
  it('the key of a name is readable', () => {
    expect(keyOf('invoice:42')).toBe('lease.invoice=3A42')
    expect(keyOf('a.b/c d')).toBe('lease.a=2Eb=2Fc=20d')
  })

  it('the key of a name has only characters that a bucket allows, and gives the name back', () => {
    checkProperty(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (name) => {
        expect(keyOf(name)).toMatch(/^lease\.[-=\w]+$/)
        expect(nameOf(keyOf(name))).toBe(name)
      }),
    )
  })

  it.each(['lease.', 'lease.=zz', 'lease.=E3', 'lease.a.b', 'lease.a=3a', 'clock', 'other'])(
    'is never %s',
    (key) => expect(nameOf(key)).toBeNull(),
  )
})
