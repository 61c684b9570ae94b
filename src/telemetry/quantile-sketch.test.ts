import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkProperty } from '../../test/property.ts'
import { QuantileSketch, RELATIVE_ERROR } from './quantile-sketch.ts'

const QUANTILES = [0, 0.01, 0.5, 0.95, 0.99, 1]
const durations = fc.array(fc.double({ min: 0, max: 1e9, noNaN: true }), { minLength: 1, maxLength: 300 })

describe('a quantile sketch', () => {
  it('a quantile sketch has an error of at most 1 % of the exact quantile', () => {
    checkProperty(
      fc.property(durations, fc.constantFrom(...QUANTILES), (values, q) => {
        const exact = values.toSorted((a, b) => a - b)[Math.max(1, Math.ceil(q * values.length)) - 1] ?? 0
        const error = Math.abs((sketchOf(values).quantile(q) ?? Number.NaN) - exact)
        expect(error).toBeLessThanOrEqual(exact < 0.01 ? 0.01 : exact * RELATIVE_ERROR * 1.0001)
      }),
    )
  })

  it('merged from two parts equals the sketch of all values', () => {
    checkProperty(
      fc.property(durations, durations, (left, right) => {
        const merged = sketchOf(left)
        merged.merge(sketchOf(right))
        expect(readingsOf(merged)).toEqual(readingsOf(sketchOf([...right, ...left])))
      }),
    )
  })

  it('a quantile sketch has no quantiles without values', () => {
    expect(new QuantileSketch().quantile(0.5)).toBeNull()
  })
})

function sketchOf(values: readonly number[]): QuantileSketch {
  const sketch = new QuantileSketch()
  for (const value of values) sketch.add(value)
  return sketch
}

function readingsOf(sketch: QuantileSketch): unknown[] {
  const { count, min, max } = sketch
  return [count, min, max, ...QUANTILES.map((q) => sketch.quantile(q))]
}
