import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkProperty } from '../../test/property.ts'
import type { LeaseRecord } from '../base/records.ts'
import { checkResource } from '../base/resource-name.ts'
import { nameOf } from './long-names.ts'
import { PREFIX, resourceOf } from './names.ts'

/** Any UTF-16 units, also halves of surrogate pairs. */
const units = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 300 })
  .map((codes) => String.fromCharCode(...codes))
const name = fc.oneof(
  units,
  fc.string({ unit: 'grapheme', maxLength: 300 }),
  fc.constantFrom('', '%', '%~', '%0041'),
)

describe('the resource of a lock', () => {
  it('the resource of a lock is a valid name in its final form, and its lease tells the name of the lock', async () => {
    await checkProperty(
      fc.asyncProperty(name, async (given) => {
        const { resource, metadata = null } = await resourceOf(given)
        expect(checkResource(resource)).toBe(resource)
        expect(nameOf(PREFIX, { resource, metadata } as LeaseRecord)).toBe(given)
      }),
      { numRuns: 1000 },
    )
  })

  it('the resource of a lock shows an ordinary name as it is', async () => {
    expect(await resourceOf('rechnung/ü:42 😀')).toEqual({ resource: 'weblock:rechnung/ü:42 😀' })
  })

  it('the resource of a lock is different for names that differ only in their normal form', async () => {
    const [composed, decomposed] = [await resourceOf('\u00e9'), await resourceOf('e\u0301')]
    expect(decomposed).not.toEqual(composed)
  })

  it('the resource of a lock of a name of 100 000 characters is short, and does not tell the name', async () => {
    const long = 'x'.repeat(100_000)
    const { resource, metadata } = await resourceOf(long)
    expect(checkResource(resource)).toBe(resource)
    expect(metadata).toBeUndefined()
    expect(nameOf(PREFIX, { resource, metadata: null } as LeaseRecord)).toBeUndefined()
    expect(await resourceOf(`${long}y`)).not.toEqual({ resource })
  })
})
