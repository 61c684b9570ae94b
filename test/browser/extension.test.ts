import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { quantile } from '../../bench/measure.ts'
import { eventually } from '../eventually.ts'
import { HANG_MS } from '../hang-limit.ts'
import { type Site, serveModule } from './chromium.ts'
import { contentScript, type LoadedExtension, loadExtension } from './loaded-extension.ts'
import type { Order, scenarios } from './probe/lab.ts'
import { type Evaluating, runProbe } from './run-probe.ts'
import { runScenario } from './run-scenario.ts'

type Scenarios = typeof scenarios

describe('the sync in an extension', () => {
  let extension: LoadedExtension
  let site: Site
  const pages: Page[] = []
  beforeAll(async () => {
    site = await serveModule(join(import.meta.dirname, 'pages/empty.ts'))
    extension = await loadExtension(join(import.meta.dirname, 'probe'))
  })
  afterEach(async () => {
    const page = await openPage()
    await page.evaluate(
      `chrome.storage.local.get(null).then((all) => chrome.storage.local.remove(Object.keys(all)))`,
    )
    for (const page of pages.splice(0)) await page.close()
  })
  afterAll(async () => {
    await extension?.[Symbol.asyncDispose]()
    await site?.[Symbol.asyncDispose]()
  })

  async function openPage(): Promise<Page> {
    const page = await extension.open('page.html')
    pages.push(page)
    await runProbe(page, 'bootstrap')
    return page
  }
  async function openTab(): Promise<Evaluating> {
    const page = await extension.browser.newPage()
    pages.push(page)
    await page.goto(site.url)
    const tab = { evaluate: await contentScript(page) }
    await runProbe(tab, 'bootstrap')
    return tab
  }
  async function openLab() {
    const page = await extension.open('lab.html')
    pages.push(page)
    return <N extends keyof Scenarios & string>(name: N, ...args: Parameters<Scenarios[N]>) =>
      runScenario<Scenarios, N>(page, name, ...args)
  }
  const stored = async (page: Page) =>
    (await page.evaluate(`chrome.storage.local.get(null)`)) as Record<string, unknown>
  const indexOf = async (page: Page) =>
    ((await stored(page))['trackedEntities:index'] as { ids: string[] } | undefined)?.ids ?? []
  /** Waits until every context shows the entities of the index. */
  const agreed = async (page: Page, contexts: readonly Evaluating[]) => {
    const ids = await indexOf(page)
    for (const context of contexts)
      await eventually(async () => expect((await runProbe(context, 'look')).ids).toEqual(ids))
    return ids
  }

  it('the sync in an extension loses none of 600 concurrent writes of two pages and the worker', async () => {
    const [one, two, worker] = [await openPage(), await openPage(), extension.worker]
    await Promise.all([
      runProbe(one, 'add', 'one', 200),
      runProbe(two, 'add', 'two', 200),
      runProbe(worker, 'add', 'worker', 200),
    ])
    expect(new Set(await agreed(one, [one, two, worker])).size).toBe(600)
  })

  it('the sync in an extension shows the same in a page that opens during the writes of others', async () => {
    const writer = await openPage()
    const [late, tab] = await Promise.all([openPage(), openTab(), runProbe(writer, 'add', 'early', 60)])
    expect((await agreed(writer, [writer, late, tab])).length).toBe(60)
    expect((await runProbe(tab, 'look')).bootstrapped).toBe(true)
  })

  it('the sync in an extension carries out all writes of a content script although the worker is killed during them', async () => {
    const [page, tab] = [await openPage(), await openTab()]
    const killDuringWrites = async () => {
      await vi.waitFor(async () => expect((await indexOf(page)).length).toBeGreaterThan(5), {
        timeout: HANG_MS,
        interval: 5,
      })
      await extension.killWorker()
    }
    await Promise.all([runProbe(tab, 'add', 'tab', 40), killDuringWrites()])
    expect((await agreed(page, [page, tab])).length).toBe(40)
  })

  it('the sync in an extension writes successfully without any receiver, with a warning', async () => {
    const page = await openPage()
    await extension.worker.evaluate(`Promise.all([coordinator.close(), probe.close()])`)
    await runProbe(page, 'add', 'alone', 1)
    expect(await indexOf(page)).toEqual(['alone0'])
    await eventually(async () => expect((await runProbe(page, 'look')).codes).toEqual(['no-receiver']))
    await extension.killWorker()
  })

  describe('with a receiver that does not answer', () => {
    beforeEach(async () => {
      await extension.worker.evaluate(`Promise.all([coordinator.close(), probe.close()])`)
    })
    afterEach(() => extension.killWorker())

    it('the sync in an extension with a receiver that does not answer writes successfully, sends the message again after 200 ms, and then warns', async () => {
      const [receiver, writer] = [await openLab(), await openLab()]
      await receiver('receive', Number.POSITIVE_INFINITY)
      expect(await writer('write', 'x')).toEqual({ stored: { n: 1 }, warnings: [] })
      await eventually(async () =>
        expect(await writer('warnings')).toEqual([
          'no context acknowledged a message about a write within 200 ms',
        ]),
      )
      expect(await receiver('received')).toBe(2)
      const [pause, ...others] = await writer('pauses')
      // A timer may be one millisecond early.
      expect(pause).toBeGreaterThan(198)
      expect(others).toEqual([])
    })

    it('the sync in an extension with a receiver that does not answer does not warn if a later message is answered', async () => {
      const [receiver, writer] = [await openLab(), await openLab()]
      await receiver('receive', 1)
      await writer('write', 'x', { resend: 5 })
      await eventually(async () => expect(await writer('answers')).toContainEqual({ action: 'entityAck' }))
      expect(await receiver('received')).toBeGreaterThan(1)
      expect(await writer('warnings')).toEqual([])
    })
  })

  it('the sync in an extension applies events and messages that come during its bootstrap, in any order', async () => {
    const writer = await openPage()
    for (const name of ['kept', 'changed', 'removed']) await runProbe(writer, 'add', name, 1)
    const orders: readonly Order[] = ['arrival', 'reverse', 'messages first', 'events first', 'twice']
    const contexts = orders.flatMap((order) =>
      ['trackedEntities:index', 'trackedEntity:'].map((prefix) => ({ order, prefix })),
    )
    const labs: Awaited<ReturnType<typeof openLab>>[] = []
    for (const { prefix } of contexts) {
      const late = await openLab()
      await late('startBootstrap', prefix)
      labs.push(late)
    }
    await runProbe(writer, 'paint', '#123456')
    for (const n of [1, 2]) await runProbe(writer, 'update', 'changed0', n)
    await runProbe(writer, 'remove', 'removed0')
    await runProbe(writer, 'add', 'added', 1)
    for (const [at, late] of labs.entries()) {
      await eventually(async () => {
        const arrivals = await late('arrivals')
        for (const last of [/^event .*"ids":\[[^\]]*"added0"/, /^message .*"added0"/])
          expect(arrivals).toContainEqual(expect.stringMatching(last))
      })
      const before = await late('endBootstrap', contexts[at]?.order ?? 'arrival')
      expect(before.isBootstrapped).toBe(false)
      expect(before.theme).not.toBe('#123456')
      await eventually(async () =>
        expect({ ...contexts[at], ...(await late('shown')) }).toEqual({
          ...contexts[at],
          isBootstrapped: true,
          theme: '#123456',
          entities: { kept0: 0, changed0: 2, added0: 0 },
          warnings: [],
        }),
      )
    }
  })

  it('the sync in an extension resets all contexts, and keeps settings and foreign keys', async () => {
    const [one, two, tab] = [await openPage(), await openPage(), await openTab()]
    await one.evaluate(`chrome.storage.local.set({ foreign: 1, 'trackedEntity:orphan': {} })`)
    await runProbe(tab, 'paint', '#123456')
    await runProbe(one, 'add', 'x', 3)
    await agreed(one, [one, two, tab])
    await runProbe(two, 'reset')
    expect(await agreed(one, [one, two, tab])).toEqual([])
    expect((await runProbe(two, 'look')).changes.at(-1)).toBe('cleared')
    expect((await runProbe(one, 'look')).theme).toBe('#123456')
    expect(await runProbe(tab, 'cleanupOrphans')).toEqual(['orphan'])
    expect(await stored(one)).not.toHaveProperty('trackedEntity:orphan')
    // The worker removes the record of the clean-up after the answer.
    await eventually(async () =>
      expect(Object.keys(await stored(one)).toSorted()).toEqual([
        'foreign',
        'syncSettings',
        'trackedEntities:index',
        'trackedEntities:meta',
      ]),
    )
  })

  it('the sync in an extension shows a change in another page not much later than the event of a bare write to the storage', async () => {
    const [writer, reader] = [await openPage(), await openPage()]
    for (let n = 0; n < 50; n++) {
      await runProbe(writer, 'update', 'x', n)
      await eventually(async () => expect(await runProbe(reader, 'shown', 'x')).toBe(n))
    }
    const { shown, bare } = await runProbe(reader, 'latencies')
    expect(shown.length).toBeGreaterThanOrEqual(50)
    for (const part of [0.5, 0.9]) {
      const [ours, theirs] = [quantile(shown, part), quantile(bare, part)]
      console.log(`page to page, p${100 * part}: ${ours.toFixed(1)} ms, bare ${theirs.toFixed(1)} ms`)
      expect(ours).toBeLessThan(20 * theirs)
    }
  })
})
