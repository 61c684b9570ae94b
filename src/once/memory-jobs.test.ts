import { describe, expect, it, vi } from 'vitest'
import type { Transactions } from '../../test/once/describe-completion.ts'
import { describeJobStore } from '../../test/once/describe-job-store.ts'
import { FakeClock } from '../testing/index.ts'
import { memoryJobs } from './memory-jobs.ts'

describeJobStore('memory', {
  ttl: 1000,
  typedTime: true,
  completes: true,
  create: async () => {
    const clock = new FakeClock()
    const jobs = memoryJobs({ clock })
    return {
      jobs,
      peer: jobs,
      transactions: {
        run: (work) => jobs.transaction(work),
        outside: [{ onCommit() {} }],
      } satisfies Transactions,
      clock,
      // Nobody else can change the memory of the store, so another holder of the lock makes the status final.
      set: async (id: string) => {
        await jobs.release(id, 'a')
        const grant = await jobs.acquire(id, 'another program', 1000)
        if (grant.granted)
          await jobs.finish(id, { owner: 'another program', token: grant.token }, { error: '' })
      },
    }
  },
  pass: ({ clock }, ms) => clock.advance(ms),
})

describe('jobs in memory', () => {
  it('jobs in memory tell watchers of every change, until they stop', async () => {
    const jobs = memoryJobs()
    await jobs.add('job')
    const on = vi.fn()
    const stop = jobs.watch?.('job', on)
    const grant = await jobs.acquire('job', 'a', 1000)
    expect(on).toHaveBeenCalledTimes(1)
    if (grant.granted) await jobs.finish('job', { owner: 'a', token: grant.token }, { result: 1 })
    expect(on).toHaveBeenCalledTimes(2)
    stop?.()
    await jobs.release('job', 'a')
    await jobs.add('another')
    expect(on).toHaveBeenCalledTimes(2)
  })

  it('jobs in memory are changed even if a watcher throws', async () => {
    const jobs = memoryJobs()
    await jobs.add('job')
    const on = vi.fn()
    jobs.watch?.('job', () => {
      throw new Error('of the watcher')
    })
    jobs.watch?.('job', on)
    expect(await jobs.acquire('job', 'a', 1000)).toMatchObject({ granted: true })
    expect(on).toHaveBeenCalledTimes(1)
  })

  it('jobs in memory keep tokens rising when the clock steps back', async () => {
    const clock = new FakeClock()
    const jobs = memoryJobs({ clock })
    await jobs.add('job')
    const before = await jobs.acquire('job', 'a', 1000)
    await jobs.release('job', 'a')
    clock.jump(-86_400_000)
    const after = await jobs.acquire('job', 'b', 1000)
    expect(before.granted && after.granted && after.token === before.token + 1).toBe(true)
  })

  it('use the statuses of the options', async () => {
    const jobs = memoryJobs({ statuses: { pending: 'new', ready: 'ok', failed: 'ko', alsoFinal: ['gone'] } })
    await jobs.add('job')
    expect(await jobs.read('job')).toMatchObject({ status: 'new' })
    const grant = await jobs.acquire('job', 'a', 1000)
    if (grant.granted) await jobs.finish('job', { owner: 'a', token: grant.token }, { result: 1 })
    expect(await jobs.read('job')).toMatchObject({ status: 'ok', finished: true })
  })

  it.each([
    [null, 'options: expected an object, got null'],
    [{ statuses: null }, 'statuses: expected an object, got null'],
    [{ statuses: { pending: 'READY' } }, 'statuses: expected different texts for pending, ready and failed'],
    [{ statuses: { ready: 1n } }, 'statuses.ready: expected a non-empty string, got 1n'],
    [{ statuses: { alsoFinal: 'GONE' } }, 'statuses.alsoFinal: expected an array, got "GONE"'],
    [{ statuses: { alsoFinal: [''] } }, 'statuses.alsoFinal: expected a non-empty string, got ""'],
  ])('jobs in memory refuse invalid options: case %#', (options, message) => {
    expect(() => memoryJobs(options as never)).toThrow(
      expect.objectContaining({ code: 'invalid-argument', message: expect.stringContaining(message) }),
    )
  })
})
