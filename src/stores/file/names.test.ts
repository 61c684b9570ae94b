import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkProperty } from '../../../test/property.ts'
import { keyOf, resourceOf } from './names.ts'

const resources = fc
  .string({ unit: 'binary', minLength: 1, maxLength: 170 })
  .filter((name) => name.isWellFormed())

describe('the file name of a resource', () => {
  it('the file name of a resource has only characters that every file system supports, and leaves room for a suffix', () => {
    checkProperty(fc.property(resources, (name) => /^[nh]-[a-z0-9_%-]{1,178}$/.test(keyOf(name))))
  })

  it('differs from that of every other resource, even if case is ignored', () => {
    checkProperty(
      fc.property(
        resources,
        resources,
        (a, b) => a === b || keyOf(a).toLowerCase() !== keyOf(b).toLowerCase(),
      ),
    )
    expect(new Set(['job', 'Job', 'JOB', 'j%6fb', 'ＪＯＢ'].map(keyOf)).size).toBe(5)
  })

  it('the file name of a resource contains the resource, unless that is too long', () => {
    checkProperty(fc.property(resources, (name) => [name, null].includes(resourceOf(keyOf(name)))))
    expect(resourceOf(keyOf('invoice:42'))).toBe('invoice:42')
    expect(resourceOf(keyOf('x'.repeat(178)))).toBe('x'.repeat(178))
    expect(resourceOf(keyOf('x'.repeat(179)))).toBeNull()
    expect(keyOf('x'.repeat(512))).not.toBe(keyOf('x'.repeat(511)))
  })

  it('the file name of a resource is not read from a foreign file', () => {
    for (const name of ['lost+found', 'n-A', 'n-%', 'n-%zz', 'n-%41%', 'n-a.b', '.DS_Store'])
      expect(resourceOf(name)).toBeNull()
  })
})
