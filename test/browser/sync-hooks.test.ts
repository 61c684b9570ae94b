import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import type { scenarios } from './pages/sync-hooks.tsx'
import { runScenario } from './run-scenario.ts'
import { servePage } from './served-page.ts'

const SUM = (100 * 99) / 2

describe('the hooks of the sync', () => {
  const site = servePage('sync-hooks.tsx')
  let page: Page
  beforeAll(async () => {
    page = await site.open()
  })
  type Scenarios = typeof scenarios
  const run = <N extends keyof Scenarios>(name: N, ...args: Parameters<Scenarios[N]>) =>
    runScenario<Scenarios, N>(page, name, ...args)

  it('render one of a hundred rows again when its entity changes', async () => {
    expect(await run('change')).toMatchObject({ renders: { e7: 1, sum: 1 }, sum: SUM + 1000 })
  })

  it('render nothing again when an entity is written as it was', async () => {
    expect((await run('same')).renders).toEqual({})
  })

  it('render the list, and no row, when an entity goes', async () => {
    const { renders, sum } = await run('remove')
    expect(renders).toMatchObject({ list: 1, sum: 1 })
    expect(Object.keys(renders).filter((name) => name.startsWith('e') && name !== 'e7')).toEqual([])
    expect(sum).toBe(SUM - 7)
  })

  it('render the users of settings alone when those change', async () => {
    expect((await run('settings')).renders).toEqual({ theme: 1 })
  })

  it('render nothing again after a write that failed', async () => {
    expect((await run('failed')).renders).toEqual({})
  })

  it('work in strict mode, and end with the component', async () => {
    expect(await run('strict')).toEqual({ textContent: 'new 1', rows: 101, left: 0 })
  })

  it('say what is missing above them', async () => {
    expect(await run('outside')).toEqual([expect.stringContaining('SyncProvider')])
  })
})
