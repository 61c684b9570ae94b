import { beforeEach, describe, expect, it, vi } from 'vitest'
import { LeaseError } from '../base/errors.ts'
import { FakeClock } from '../testing/index.ts'
import { type MemoryJobs, memoryJobs } from './memory-jobs.ts'
import { createOnce, type Once } from './once.ts'
import type { JobWork } from './run.ts'

let clock: FakeClock
let jobs: MemoryJobs
let once: Once
let effects: string[]
const onWarning = vi.fn()
const onEvent = vi.fn()
beforeEach(async () => {
  vi.clearAllMocks()
  clock = new FakeClock()
  jobs = memoryJobs({ clock })
  once = createOnce(jobs, { clock, onWarning, onEvent })
  effects = []
  await jobs.add('job')
})

/** Work with an effect in the same transaction as its result, and what it does before and after COMMIT. */
function paying(before: () => unknown = () => {}, after: () => unknown = () => {}): JobWork<number> {
  return async ({ id, complete }) => {
    const result = await jobs.transaction(async (tx) => {
      tx.onCommit(() => effects.push(id))
      const written = await complete(tx, 42)
      await before()
      return written
    })
    await after()
    return result
  }
}

const fail = () => {
  throw new Error('broken')
}

describe('work that completes its job in its own transaction', () => {
  it('work that completes its job in its own transaction is finished when the transaction is committed, without a second write and without a release', async () => {
    const [finish, release] = [vi.spyOn(jobs, 'finish'), vi.spyOn(jobs, 'release')]
    expect(await once.run('job', paying())).toEqual({ ran: true, result: 42 })
    expect(await jobs.read('job')).toMatchObject({ status: 'READY', result: 42, attempts: 1 })
    expect(effects).toEqual(['job'])
    expect([finish.mock.calls, release.mock.calls]).toEqual([[], []])
    expect(onEvent).toHaveBeenLastCalledWith(expect.objectContaining({ type: 'released' }))
    expect(await once.run('job', paying())).toMatchObject({ ran: false, reason: 'already_finished' })
  })

  it('work that completes its job in its own transaction gives the completed result to every caller of once.result, whatever it returns', async () => {
    const work: JobWork<unknown> = async (job) => {
      await paying()(job)
      return 'something else'
    }
    expect(await once.result('paid', work, { payload: 1 })).toEqual({ ran: true, result: 42 })
    expect(await once.result('paid', work, { payload: 1 })).toEqual({ ran: false, result: 42 })
    expect(effects).toEqual(['paid'])
  })

  it('work that completes its job in its own transaction leaves the job for another run if the transaction is rolled back', async () => {
    await expect(once.run('job', paying(fail))).rejects.toThrow('broken')
    expect(await jobs.read('job')).toMatchObject({ status: 'PENDING', error: null })
    expect(effects).toEqual([])
    expect(await once.run('job', paying())).toEqual({ ran: true, result: 42 })
    expect(await jobs.read('job')).toMatchObject({ attempts: 2 })
  })

  it('rejects with not-finished if it returns although the transaction was rolled back', async () => {
    const work: JobWork<void> = async (job) => {
      await Promise.resolve(paying(fail)(job)).catch(() => {})
    }
    await expect(once.run('job', work)).rejects.toMatchObject({ code: 'not-finished', retryable: true })
    expect(await jobs.acquire('job', 'next', 1000)).toMatchObject({ granted: true })
  })

  it('work that completes its job in its own transaction may repeat a transaction that was rolled back', async () => {
    const work: JobWork<number> = async (job) => {
      await Promise.resolve(paying(fail)(job)).catch(() => {})
      return paying()(job)
    }
    expect(await once.run('job', work)).toEqual({ ran: true, result: 42 })
    expect(effects).toEqual(['job'])
  })

  it('work that completes its job in its own transaction cannot repeat its effect after a COMMIT whose answer was lost, and is finished all the same', async () => {
    const work: JobWork<number> = async (job) => {
      await Promise.resolve(paying(undefined, fail)(job)).catch(() => {})
      return paying()(job)
    }
    expect(await once.run('job', work)).toEqual({ ran: true, result: 42 })
    expect(effects).toEqual(['job'])
    expect(onWarning).toHaveBeenCalledExactlyOnceWith(
      'the work of job job threw after its result was committed',
      expect.objectContaining({ code: 'lease-lost' }),
    )
  })

  it('work that completes its job in its own transaction is finished if the answer to COMMIT was lost, which its record tells', async () => {
    expect(await once.run('job', paying(undefined, fail))).toEqual({ ran: true, result: 42 })
    expect(await jobs.read('job')).toMatchObject({ status: 'READY', result: 42 })
  })

  it('work that completes its job in its own transaction asks again if the store does not answer whether the transaction was committed', async () => {
    const completed = vi.spyOn(jobs, 'completed')
    completed.mockRejectedValueOnce(new LeaseError('store-unavailable', 'later'))
    const run = once.run('job', paying())
    await vi.waitFor(() => expect(completed).toHaveBeenCalled())
    await clock.advance(1000)
    expect(await run).toEqual({ ran: true, result: 42 })
    expect(completed).toHaveBeenCalledTimes(2)
  })

  it('rejects with outcome-unknown if the store does not answer before the lock ends', async () => {
    vi.spyOn(jobs, 'completed').mockRejectedValue(new LeaseError('store-unavailable', 'later'))
    const run = once.run('job', paying(), { ttl: 1000, heartbeat: false })
    const rejected = expect(run).rejects.toMatchObject({ code: 'outcome-unknown' })
    for (let seconds = 0; seconds < 10; seconds++) await clock.advance(1000)
    await rejected
  })

  it.each(['before', 'after'])(
    'work that completes its job in its own transaction has no effect if the lock was lost %s complete',
    async (when) => {
      const steal = async () => {
        await clock.advance(10_000)
        await jobs.acquire('job', 'next', 60_000)
      }
      const run = once.run(
        'job',
        async (job) => {
          if (when === 'before') await steal()
          return paying(when === 'after' ? steal : undefined)(job)
        },
        { ttl: 5000, heartbeat: false },
      )
      await expect(run).rejects.toMatchObject({ code: 'lease-lost' })
      expect(effects).toEqual([])
      expect(await jobs.read('job')).toMatchObject({ finished: false, attempts: 2 })
    },
  )

  it('work that completes its job in its own transaction is a failure of the job if complete is refused for another reason, as outside of a transaction', async () => {
    const invalid = { code: 'invalid-argument', message: expect.stringContaining('open transaction') }
    await expect(once.run('job', ({ complete }) => complete({}, 1))).rejects.toMatchObject(invalid)
    expect(await jobs.read('job')).toMatchObject({ status: 'FAILED' })
  })

  it('work that completes its job in its own transaction must give a result that JSON can carry', async () => {
    const work: JobWork<unknown> = ({ complete }) => jobs.transaction((tx) => complete(tx, () => {}))
    await expect(once.run('job', work)).rejects.toThrow('expected a result that JSON can carry')
  })

  it('work that completes its job in its own transaction sees complete throw at once on a store that answers at once, so that a synchronous transaction fails', async () => {
    vi.spyOn(jobs, 'complete').mockReturnValueOnce(false)
    const run = once.run('job', ({ complete }) => {
      expect(() => complete({}, 1)).toThrow('was lost')
      return 'done'
    })
    expect(await run).toEqual({ ran: true, result: 'done' })
  })
})
