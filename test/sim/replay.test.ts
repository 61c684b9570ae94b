import { describe, expect, it } from 'vitest'
import { DOCUMENT_TROUBLES, type Plan } from './product/plan.ts'
import { smallerPlans } from './product/smaller-plans.ts'
import { shrink } from './shrink.ts'
import { WORLDS, type WorldName } from './worlds.ts'

describe('a simulated world', () => {
  for (const name of Object.keys(WORLDS) as WorldName[])
    it(`${name}: a seed replays exactly, and another seed is another story`, async () => {
      const { run } = await WORLDS[name]()
      const first = await run(7, { trace: true })
      expect(first.trace.length).toBeGreaterThan(20)
      expect((await run(7, { trace: true })).trace).toEqual(first.trace)
      expect((await run(8, { trace: true })).trace).not.toEqual(first.trace)
    })

  it('a failing run is made smaller until nothing can be left out', async () => {
    const weather = { delay: [1, 400], lose: 0.1, cut: 0.1, double: 0.1 } as const
    const troubles = DOCUMENT_TROUBLES.map((kind, n) => ({ at: n * 100, kind, ms: 10, whom: 0.5 }))
    const plan: Plan = {
      documents: { people: 3, nodes: 3 },
      jobs: { workers: 2, jobs: 3 },
      stormMs: 30_000,
      paceMs: 600,
      outside: weather,
      inside: weather,
      troubles,
    }
    const fails = async ({ documents, troubles, inside }: Plan) =>
      Number(documents?.people) > 1 &&
      inside.lose > 0 &&
      troubles.some(({ kind }) => kind === 'a node crashes')
    const smallest = await shrink(plan, smallerPlans, fails)
    expect(smallest).toMatchObject({
      documents: { people: 2, nodes: 1 },
      inside: { lose: 0.1, cut: 0, double: 0 },
    })
    expect(smallest).not.toHaveProperty('jobs')
    expect(smallest.outside.lose).toBe(0)
    expect(smallest.troubles.map(({ kind }) => kind)).toEqual(['a node crashes'])
    expect(smallest.stormMs).toBeLessThan(1000)
  })
})
