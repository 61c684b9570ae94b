import { describe, expect, it } from 'vitest'
import { projectBed } from '../../test/web/project-bed.ts'

describe('withProjectLock', () => {
  it('withProjectLock holds the lock while the executor runs, and resolves with its result', async () => {
    const { openTab, finished } = projectBed()
    const { locks, emitted } = openTab()
    const result = locks.withProjectLock(async (lease) => locks.holdsProjectLock(lease), { scope: 'history' })
    expect(await finished(result)).toBe(true)
    expect(emitted()).toEqual(['attempt', 'acquired', 'release-requested', 'released'])
  })

  it('withProjectLock reports an error of the executor, enters read-only, releases and rethrows it', async () => {
    const { openTab, finished } = projectBed()
    const { locks, emitted, events } = openTab()
    const problem = new Error('disk on fire')
    const running = locks.withProjectLock(() => Promise.reject(problem))
    await expect(finished(running)).rejects.toBe(problem)
    const after = ['error', 'readonly-entered', 'release-requested', 'released']
    expect(emitted()).toEqual(['attempt', 'acquired', ...after])
    expect(events[2]).toMatchObject({ operation: 'execute', retryable: false, error: { cause: problem } })
    expect(events[3]).toMatchObject({ reason: 'executor-failed', lastError: { cause: problem } })
  })

  it.each([
    ['a symbol', Symbol('no')],
    ['nothing', undefined],
    ['an object without a prototype', Object.create(null)],
  ])('withProjectLock rethrows %s that the executor threw', async (_, thrown) => {
    const { openTab, finished } = projectBed()
    const { locks, events } = openTab()
    const running = finished(
      locks.withProjectLock(() => Promise.reject(thrown)).catch((error) => ({ error })),
    )
    expect(await running).toEqual({ error: thrown })
    expect(events[2]).toMatchObject({
      operation: 'execute',
      error: { code: 'lock-unavailable', cause: thrown },
    })
  })

  it.each([
    ['until it succeeds', 2, 'done', 'released'],
    ['until the attempts are used up', 9, 'busy', 'released'],
  ])(
    'withProjectLock runs the executor again after a retryable error: %s',
    async (_, failures, outcome, last) => {
      const { openTab, finished } = projectBed()
      const { locks, emitted, events } = openTab()
      let runs = 0
      const executor = async () => {
        if (++runs <= failures) throw Object.assign(new Error('busy'), { retryable: true })
        return 'done'
      }
      expect(await finished(locks.withProjectLock(executor).catch(({ message }) => message))).toBe(outcome)
      expect(runs).toBe(Math.min(failures + 1, 5))
      expect(events.filter((event) => event.type === 'lock:retry').map((event) => event.delayMs)).toEqual(
        [500, 1000, 2000, 4000].slice(0, runs - 1),
      )
      expect(emitted().includes('readonly-entered')).toBe(failures > 5)
      expect(emitted().at(-1)).toBe(last)
    },
  )

  it('withProjectLock pauses between two runs as the retry policy says', async () => {
    const { openTab, finished } = projectBed()
    const { locks, events } = openTab()
    const busy = Object.assign(new Error('busy'), { retryable: true })
    const retry = { initialDelayMs: 10, multiplier: 3, maxAttempts: 3 }
    await expect(finished(locks.withProjectLock(() => Promise.reject(busy), { retry }))).rejects.toBe(busy)
    expect(events.flatMap((event) => (event.type === 'lock:waiting' ? event.delayMs : []))).toEqual([10, 30])
  })

  it('withProjectLock rejects if the lock was lost while the executor ran', async () => {
    const { clock, files, openTab, finished } = projectBed()
    const { locks, emitted } = openTab({ locks: null })
    const running = locks.withProjectLock(
      async () => {
        files.clear()
        await new Promise<void>((resolve) => clock.setTimer(resolve, 15_000))
      },
      { retry: { maxAttempts: 1 } },
    )
    await expect(finished(running)).rejects.toMatchObject({ code: 'lock-renewal-failed' })
    expect(emitted().at(-1)).toBe('released')
  })

  it('withProjectLock enters read-only once if the lease expires while the executor runs', async () => {
    const { clock, files, openTab, finished } = projectBed()
    const { locks, events, emitted } = openTab({ locks: null })
    const running = locks.withProjectLock(async () => {
      files.refuse = () => new Promise(() => {})
      await new Promise<void>((resolve) => clock.setTimer(resolve, 40_000))
      files.refuse = () => {}
    })
    await expect(finished(running)).rejects.toMatchObject({ code: 'lock-renewal-failed' })
    expect(events.filter(({ type }) => type === 'lock:readonly-entered')).toMatchObject([
      { reason: 'lease-expired' },
    ])
    expect(emitted()).toContain('error')
  })

  it('withProjectLock does not run the executor without the lock', async () => {
    const { openTab, finished } = projectBed()
    await finished(openTab().locks.acquireProjectLock())
    let ran = false
    const running = openTab().locks.withProjectLock(async () => {
      ran = true
    })
    await expect(finished(running)).rejects.toMatchObject({ code: 'lock-unavailable' })
    expect(ran).toBe(false)
  })
})
