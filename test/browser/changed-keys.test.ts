import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createServer, type HoldfastServer } from '../../src/server/node/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { eventually } from '../eventually.ts'
import type { scenarios } from './pages/changed-keys.tsx'
import { runScenario } from './run-scenario.ts'
import { servePage } from './served-page.ts'

type Scenarios = typeof scenarios

describe('a component that changes to another document or project', () => {
  const site = servePage('changed-keys.tsx')
  let server: HoldfastServer
  let page: Page
  beforeAll(async () => {
    page = await site.open()
    const origins = [new URL(page.url()).origin]
    server = await createServer({
      store: memoryStore(),
      settings: { port: 0, origins, rate: 0, logLevel: 'silent' },
    })
  })
  beforeEach(() => page.reload())
  afterAll(() => server?.close())

  const run = <N extends keyof Scenarios>(name: N, ...args: Parameters<Scenarios[N]>) =>
    runScenario<Scenarios, N>(page, name, ...args)
  const shows = (text: string) =>
    eventually(async () => expect(await page.locator('output').textContent()).toBe(text))

  it('a component that changes to another document or project never gets the lock or the content of the former document, which does not save any more', async () => {
    await run('showDocument', server.url, 'first')
    await shows('first false true')
    await run('edit', 'first')
    await shows('first true true')
    await eventually(async () => expect(await run('saved', 'first')).toBe('text of first'))
    await run('showDocument', server.url, 'second')
    expect(await run('firstRender', 'second')).toEqual([false, false, false, null])
    expect(await run('saveLate', 'first')).toBe('closed')
    await shows('second false true')
    await run('edit', 'second')
    await shows('second true true')
    await eventually(async () => expect(await run('saved', 'second')).toBe('text of second'))
    expect(await run('saved', 'first')).toBe('text of first')
  })

  it('a component that changes to another document or project never gets the status of the former project lock, and does not release the next one by its functions', async () => {
    await run('showLock', 'one')
    await run('acquireLock')
    await shows('one held')
    await run('keepRelease')
    await run('showLock', 'two')
    expect(await run('firstRender', 'two')).toEqual(['free', false])
    await run('acquireLock')
    await shows('two held')
    await run('releaseKept')
    await shows('two held')
  })

  it('a component that changes to another document or project never gets the AutoSave of the former project, which saves only its own value', async () => {
    await run('showProject', 'red', 'red one')
    await shows('red false')
    await run('showProject', 'red', 'red two')
    await shows('red true')
    await run('showProject', 'blue', 'blue one')
    expect(await run('firstRender', 'blue')).toEqual([false, false])
    await eventually(async () => expect(await run('filesOf', 'red')).toContain('red two'))
    expect(await run('filesOf', 'red')).not.toContain('blue')
  })
})
