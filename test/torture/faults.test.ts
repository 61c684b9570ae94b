import { expect, it } from 'vitest'
import { seeded } from '../random.ts'
import type { Bed, Node } from './beds/index.ts'
import { type Crew, Seat } from './crew.ts'
import { type FaultKind, Faults } from './faults.ts'

const node: Node = { port: 1, freeze() {}, thaw() {}, crash: async () => {}, revive: async () => {} }

function bedOf(more: Partial<Bed>): Bed {
  const close = async () => {}
  return { ttl: 1000, nodes: [node], mayCrash: 1, address: () => '', [Symbol.asyncDispose]: close, ...more }
}

/** The kinds of so many steps. */
function drawn(seed: number, steps: number, bed = bedOf({})): FaultKind[][] {
  const crew = { seats: [new Seat([], undefined, undefined), new Seat([], undefined, undefined)] } as Crew
  const faults = new Faults(seeded(seed), { bed, crew })
  return Array.from({ length: steps }, () => faults.next().map(({ kind }) => kind))
}

it('the same seed gives the same faults in the same order, and another seed others', () => {
  expect(drawn(7, 30)).toEqual(drawn(7, 30))
  expect(drawn(7, 30)).not.toEqual(drawn(8, 30))
})

it('each kind that is possible happens about equally often', () => {
  const times = Map.groupBy(drawn(1, 200).flat(), (kind) => kind)
  const counts = [...times.values()].map((same) => same.length)
  expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(2)
  expect(times.size).toBe(11)
})

it('a store in files has faults of workers and of the disk only', () => {
  const bed = bedOf({ nodes: [], mayCrash: 0, disk: {} as NonNullable<Bed['disk']> })
  expect(new Set(drawn(1, 50, bed).flat())).toEqual(
    new Set(['worker is killed', 'worker is stopped', 'disk is full']),
  )
})

it('a server that forgets in a crash what it confirmed never crashes', () => {
  expect(drawn(1, 100, bedOf({ mayCrash: 0 })).flat()).not.toContain('server crashes')
})
