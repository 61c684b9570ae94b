import { describe, expect, it } from 'vitest'
import { FakeClock } from '../testing/index.ts'
import { QueueCensus } from './queue-census.ts'

function census(waiting: Record<string, number | null>) {
  const clock = new FakeClock()
  const asked: number[] = []
  const taken = new QueueCensus({
    clock,
    resources: () => Object.keys(waiting),
    async count(resources) {
      asked.push(resources.length)
      return resources.map((resource) => waiting[resource] ?? null)
    },
  })
  return { clock, asked, taken }
}

describe('the count of all who wait', () => {
  it('the count of all who wait names the longest queues first, and leaves out what nobody waits for', async () => {
    const { taken } = census({ a: 1, b: 0, c: 30, d: null })
    expect(await taken.read()).toEqual({
      total: 31,
      queues: [
        { resource: 'c', waiting: 30 },
        { resource: 'a', waiting: 1 },
      ],
    })
  })

  it('the count of all who wait asks the store in parts, and once for all who want to know', async () => {
    const { clock, asked, taken } = census(
      Object.fromEntries(Array.from({ length: 1200 }, (_, n) => [`r${n}`, 1])),
    )
    const [first, second] = await Promise.all([taken.read(), taken.read()])
    expect(second).toBe(first)
    expect(first).toMatchObject({ total: 1200, queues: { length: 500 } })
    expect(asked).toEqual([500, 500, 200])
    await clock.advance(2000)
    await taken.read()
    expect(asked).toHaveLength(6)
  })

  it('the count of all who wait asks again after a failure', async () => {
    let fails = true
    const taken = new QueueCensus({
      clock: new FakeClock(),
      resources: () => ['a'],
      count: async () => {
        if (fails) throw new Error('not now')
        return [2]
      },
    })
    await expect(taken.read()).rejects.toThrow('not now')
    fails = false
    expect(await taken.read()).toMatchObject({ total: 2 })
  })
})
