import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import type { scenarios } from './pages/core.ts'
import { runScenario } from './run-scenario.ts'
import { servePage } from './served-page.ts'

type Scenarios = typeof scenarios

describe('the core in a page of Chromium', () => {
  const served = servePage('core.ts')
  let page: Page
  beforeAll(async () => {
    page = await served.open()
  })

  const run = <N extends keyof Scenarios>(name: N, ...args: Parameters<Scenarios[N]>) =>
    runScenario<Scenarios, N>(page, name, ...args)

  it('the core in a page of Chromium holds a lease while the work runs, and frees it then', async () => {
    expect(await run('withLease')).toEqual({
      held: true,
      token: expect.any(Number),
      holder: true,
      free: true,
    })
  })

  it('the core in a page of Chromium serves twenty that ask at once, one at a time and in their order', async () => {
    const { served, tokens, most } = await run('contention', 20)
    expect(most).toBe(1)
    expect(served).toEqual(Array.from({ length: 20 }, (_, n) => n))
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b))
  })

  it('signals the loss by the deadline when the store hangs', async () => {
    const { order, held, code } = await run('frozenStore', 500)
    expect({ held, code }).toEqual({ held: false, code: 'lease-lost' })
    // No timer of a busy page is on time, so the loss is compared with another one.
    expect(order).toEqual(['signal', 'timer'])
  })

  it('the core in a page of Chromium is not held from the deadline on, though no timer could run', async () => {
    expect(await run('busyPage', 100_000, 50_000)).toEqual({ held: true, aborted: false })
    expect(await run('busyPage', 100_000, 100_000)).toEqual({ held: false, aborted: true })
  })

  it('the core in a page of Chromium passes the conformance suite with the memory store', async () => {
    const results = await run('conformance')
    expect(results.length).toBeGreaterThan(40)
    expect(results.filter((result) => result.error)).toEqual([])
  })
})
