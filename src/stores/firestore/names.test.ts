import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkProperty } from '../../../test/property.ts'
import { idOf, nameOf } from './names.ts'

describe('the id of a name', () => {
  it('the id of a name is readable', () => {
    expect(idOf('invoice:42')).toBe('lease:invoice:42')
    expect(idOf('a/b~c')).toBe('lease:a~1b~0c')
  })

  it('the id of a name has no slash, and gives the name back', () => {
    const names = fc.string({ unit: fc.constantFrom('/', '~', '0', '1', '.', '_', 'é', '🔒'), minLength: 1 })
    checkProperty(
      fc.property(names, (name) => {
        expect(idOf(name)).not.toContain('/')
        expect(nameOf(idOf(name))).toBe(name)
      }),
    )
  })

  it('the id of a name is short enough for the longest name', () => {
    expect(new TextEncoder().encode(idOf('/'.repeat(512))).length).toBeLessThanOrEqual(1500)
  })

  it.each(['lease:', 'lease:~', 'lease:~2', 'other', ''])('the id of a name is never "%s"', (id) =>
    expect(nameOf(id)).toBeNull(),
  )
})
