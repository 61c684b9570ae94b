import { expect, vi } from 'vitest'
import type { JobGrant, JobStore } from '../../src/once/index.ts'

/** Expects that locks last by the clock of the server, however wrong the clock of the worker is. */
export async function expectServerClock(jobs: JobStore): Promise<void> {
  await jobs.add('job')
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 86_400_000 })
  try {
    const { expiresAt } = (await jobs.acquire('job', 'a', 60_000)) as JobGrant
    expect(expiresAt).toBeLessThan(Date.now() - 80_000_000)
    expect(await jobs.acquire('job', 'b', 60_000)).toMatchObject({ reason: 'locked' })
    vi.setSystemTime(0)
    expect(await jobs.acquire('job', 'b', 60_000)).toMatchObject({ reason: 'locked' })
    expect(await jobs.refresh('job', 'a', 60_000)).not.toBeNull()
  } finally {
    vi.useRealTimers()
  }
}
