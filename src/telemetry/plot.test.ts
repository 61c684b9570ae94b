import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkProperty } from '../../test/property.ts'
import { logScale, type Plot, renderPlot, scaleFromZero, scaleToOne } from './plot.ts'

const plot: Plot = {
  series: [{ name: 'share', colour: '--good', values: [0.1, 0.2, null, 0.3, 0.4] }],
  times: [0, 10, 20, 30, 50],
  stepMs: 10,
  format: String,
  scale: scaleFromZero(1),
  bands: [],
}

describe('a plot', () => {
  it('a plot has a gap where a value or a window is missing, and a dot for a single value', () => {
    const svg = renderPlot(plot)
    expect(svg.match(/<polyline points="[^"]+"/g)?.map((line) => line.split(' ').length - 1)).toEqual([2])
    expect(svg.match(/<circle/g)).toHaveLength(2)
  })

  it('says that it has no data', () => {
    const values = [null, null, null, null, null]
    expect(renderPlot({ ...plot, series: [{ name: 'share', colour: '--good', values }] })).toContain(
      'no data',
    )
    expect(renderPlot(plot)).not.toContain('no data')
  })

  it('a plot draws the bars of several series side by side', () => {
    const entered = { name: 'entered', colour: '--bad', values: [1, 0, 1, 1, 1] }
    const svg = renderPlot({ ...plot, bars: true, series: [entered, { ...entered, colour: '--good' }] })
    const places = [...svg.matchAll(/<rect x="([\d.]+)"/g)].map(([, x]) => x)
    expect(new Set(places).size).toBe(8)
  })
})

describe('scales', () => {
  const positive = fc.double({ min: 1e-3, max: 1e7, noNaN: true })

  it('scales have few ticks, from bottom to top, and include every value', () => {
    checkProperty(
      fc.property(
        positive,
        fc.array(positive, { minLength: 1 }),
        fc.double({ min: 0, max: 0.99, noNaN: true }),
        (to, values, from) => {
          for (const { ticks, place } of [scaleFromZero(to), scaleToOne(from)]) {
            expect(ticks.length).toBeLessThanOrEqual(6)
            expect(place(ticks[0] ?? Number.NaN)).toBeCloseTo(0)
            expect(place(ticks.at(-1) ?? Number.NaN)).toBeCloseTo(1)
          }
          expect(scaleFromZero(to).ticks.at(-1)).toBeGreaterThanOrEqual(to * (1 - 1e-9))
          expect(scaleToOne(from).ticks.at(-1)).toBeCloseTo(1)
          expect(scaleToOne(from).ticks[0]).toBeLessThanOrEqual(from + 1e-9)
          expect(logScale(values).ticks.at(-1)).toBeGreaterThanOrEqual(Math.max(...values) * (1 - 1e-6))
        },
      ),
    )
  })
})
