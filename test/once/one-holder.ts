import { expect } from 'vitest'
import type { JobStore } from '../../src/once/index.ts'

const OWNERS = 10

/** Many owners acquire and release one job at the same time, so many times each. */
export async function expectOneHolder(jobs: JobStore, rounds: number): Promise<void> {
  await jobs.add('job')
  const tokens: number[] = []
  let holders = 0
  const own = async (n: number) => {
    for (let round = 0; round < rounds; round++) {
      const owner = `${n}-${round}`
      const answer = await jobs.acquire('job', owner, 60_000)
      if (!answer.granted) continue
      expect(++holders).toBe(1)
      tokens.push(answer.token)
      await jobs.refresh('job', owner, 60_000)
      holders--
      expect(await jobs.release('job', owner)).toBe(true)
    }
  }
  await Promise.all(Array.from({ length: OWNERS }, (_, n) => own(n)))
  expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b))
  expect(await jobs.read('job')).toMatchObject({ attempts: tokens.length })
}
