import { beforeEach, describe, expect, it, vi } from 'vitest'
import { FakeClock } from '../testing/index.ts'
import type { JobStore } from './job-store.ts'
import { memoryJobs } from './memory-jobs.ts'
import { createOnce, type Once } from './once.ts'

describe('a wait for a job', () => {
  let clock: FakeClock
  let jobs: JobStore
  /** How long the answer to a read takes; `Infinity`: there is none. */
  let delay: number
  beforeEach(async () => {
    clock = new FakeClock()
    const memory = memoryJobs({ clock })
    delay = 0
    const read: JobStore['read'] = async (id) => {
      const ms = delay
      if (ms > 0) await new Promise<void>((resolve) => ms < Infinity && clock.setTimer(resolve, ms))
      return memory.read(id)
    }
    const { watch: _, ...deaf } = memory
    jobs = { ...deaf, read }
    await jobs.add('job')
  })

  /** What has become of it after `ms`. */
  async function outcomeAfter(ms: number, waiting: ReturnType<Once['wait']>) {
    const outcome = waiting.catch((error) => error)
    await clock.advance(ms)
    return Promise.race([outcome, 'still waiting'])
  }

  it.each([0, 10, 500])('a wait of %d ms sees a finished job in a slow store', async (wait) => {
    const once = createOnce(jobs, { clock })
    await once.run('job', () => 1)
    delay = 800
    expect(await outcomeAfter(900, once.wait('job', { wait }))).toMatchObject({ finished: true })
  })

  it('a short wait ends with the first answer of a slow store', async () => {
    const once = createOnce(jobs, { clock })
    delay = 800
    expect(await outcomeAfter(801, once.wait('job', { wait: 10 }))).toMatchObject({ code: 'not-finished' })
  })

  it.each([
    { callTimeout: 5000, ends: 1000 },
    { callTimeout: 300, ends: 300 },
  ])(
    'asks a silent store for $ends ms if the call timeout is $callTimeout',
    async ({ callTimeout, ends }) => {
      const once = createOnce(jobs, { clock, callTimeout })
      delay = Infinity
      const waiting = once.wait('job', { wait: 10 })
      expect(await outcomeAfter(ends - 1, waiting)).toBe('still waiting')
      expect(await outcomeAfter(2, waiting)).toMatchObject({ code: 'store-unavailable' })
    },
  )

  it('the earlier name of its limit works, with one warning', async () => {
    const emitWarning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    try {
      const once = createOnce(jobs, { clock })
      for (let waits = 0; waits < 2; waits++)
        expect(await outcomeAfter(11, once.wait('job', { timeout: 10 }))).toMatchObject({
          code: 'not-finished',
        })
      expect(emitWarning.mock.calls).toEqual([
        ['once.wait: the option timeout is now called wait', 'HoldfastWarning'],
      ])
      await expect(once.wait('job', { timeout: -1 })).rejects.toThrow('wait: expected')
    } finally {
      emitWarning.mockRestore()
    }
  })

  it('the limit covers every read after the first one', async () => {
    const once = createOnce(jobs, { clock })
    const waiting = once.wait('job', { wait: 2000 })
    expect(await outcomeAfter(100, waiting)).toBe('still waiting')
    delay = Infinity
    expect(await outcomeAfter(1901, waiting)).toMatchObject({ code: 'not-finished' })
  })
})
