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

  it('render only the row whose entity changes, of a hundred rows', async () => {
    expect(await run('change')).toMatchObject({ renders: { e7: 1, sum: 1 }, sum: SUM + 1000 })
  })

  it('render nothing when an entity is written without a change', async () => {
    expect((await run('same')).renders).toEqual({})
  })

  it('render the list, and no other row, when an entity is removed', async () => {
    const { renders, sum } = await run('remove')
    expect(renders).toMatchObject({ list: 1, sum: 1 })
    expect(Object.keys(renders).filter((name) => name.startsWith('e') && name !== 'e7')).toEqual([])
    expect(sum).toBe(SUM - 7)
  })

  it('render only the components that use the settings when those change', async () => {
    expect((await run('settings')).renders).toEqual({ theme: 1 })
  })

  it('render nothing after a write that failed', async () => {
    expect((await run('failed')).renders).toEqual({})
  })

  it('read the whole list a few times, not once for each of many changes', async () => {
    const { shown, reads } = await run('many')
    expect(shown).toEqual(['500 500', '500 1000', '499 998', '0 0'])
    expect(reads).toBeLessThan(50)
  })

  it('work in strict mode, and unsubscribe with the component', async () => {
    expect(await run('strict')).toEqual({ textContent: 'new 1', rows: 101, left: 0 })
  })

  it('bootstrap the sync, and show its status', async () => {
    expect(await run('bootstrap')).toEqual(['loadinga undefined', 'readya 1', 'closeda 1'])
  })

  it('the hooks of the sync throw a LeaseError that names the missing provider', async () => {
    expect(await run('outside')).toEqual([expect.stringMatching(/^LeaseError: .*SyncProvider/)])
  })
})
