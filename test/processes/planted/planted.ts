/** A test file outside of the suite: its property fails for one value in fifty. */
import { appendFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { checkProperty } from '../../property.ts'

it('a planted mistake is found', () => {
  const { PLANTED_LOG = '', PLANTED_MISTAKE } = process.env
  const seen: number[] = []
  try {
    checkProperty(
      fc.property(fc.nat(1_000_000), (value) => {
        seen.push(value)
        expect(PLANTED_MISTAKE && value % 50 === 7).toBeFalsy()
      }),
      { numRuns: 10 },
    )
  } finally {
    appendFileSync(PLANTED_LOG, `${JSON.stringify(seen)}\n`)
  }
})
