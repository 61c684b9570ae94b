/**
 * Firefox has Web Locks, but no exclusive writers on files, no `storage.getKeys`, and `browser` in place of `chrome`.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { buildExtension } from '../../examples/extension/build.ts'
import { eventually } from '../eventually.ts'
import { type Site, serveModule } from './chromium.ts'
import { EXTENSION_ID, EXTENSION_ORIGIN, type Firefox, type FirefoxPage, launchFirefox } from './firefox.ts'
import type { scenarios as autosaveScenarios } from './pages/autosave.ts'
import type { scenarios as projectScenarios } from './pages/project.ts'
import type { scenarios as storeScenarios } from './pages/web-stores.ts'
import type { PassedOn } from './probe/content.ts'
import type { Probe } from './probe/probe.ts'
import { runProbe } from './run-probe.ts'

let firefox: Firefox
beforeAll(async () => {
  firefox = await launchFirefox()
})
afterAll(() => firefox?.[Symbol.asyncDispose]())

type Scenarios = Record<string, (...args: never[]) => Promise<unknown>>

interface Tab<S extends Scenarios> extends FirefoxPage {
  run<N extends keyof S & string>(name: N, ...args: Parameters<S[N]>): ReturnType<S[N]>
}

/** For the tests of a group: a site with one of the modules in `pages`. Its files are removed after each test. */
function serve<S extends Scenarios>(module: string) {
  let site: Site
  let cleaner: FirefoxPage
  let pages: FirefoxPage[] = []
  beforeAll(async () => {
    site = await serveModule(join(import.meta.dirname, 'pages', module))
    cleaner = await firefox.open(site.url)
  })
  afterEach(async () => {
    // A page that was closed or killed is gone.
    await Promise.all(pages.map((page) => page.close().catch(() => {})))
    pages = []
    await eventually(() => cleaner.evaluate(`(${clearFiles})()`))
  })
  afterAll(() => site?.[Symbol.asyncDispose]())
  return async (prepare?: () => unknown): Promise<Tab<S>> => {
    const page = await firefox.open(site.url, prepare)
    pages.push(page)
    return {
      ...page,
      run: (name, ...args) =>
        page.evaluate(`scenarios.${name}(${args.map((arg) => JSON.stringify(arg)).join()})`) as ReturnType<
          S[typeof name]
        >,
    }
  }
}

async function clearFiles() {
  const root = await navigator.storage.getDirectory()
  for await (const name of root.keys()) await root.removeEntry(name, { recursive: true })
  localStorage.clear()
}

const withoutWebLocks = () => {
  Object.defineProperty(Navigator.prototype, 'locks', { get: () => undefined })
}

describe('the web stores in Firefox', () => {
  const openTab = serve<typeof storeScenarios>('web-stores.ts')
  const openStore = async (...args: Parameters<typeof storeScenarios.open>) => {
    const tab = await openTab()
    await tab.run('open', ...args)
    return tab
  }

  it('locks: passes the conformance suite', async () => {
    const results = await (await openTab()).run('conformance', 'locks')
    expect(results.length).toBeGreaterThan(35)
    expect(results.filter((result) => result.error)).toEqual([])
  })

  it('directory: loses no change when several stores change the file at once', async () => {
    const title = 'hands each expired lease to one of several sweepers, and forgets none'
    expect(await (await openTab()).run('conformance', 'directory', [title])).toEqual([{ title }])
  })

  it.each(['locks', 'directory'] as const)(
    '%s: wakes the waiter in another tab, and its token is higher',
    async (kind) => {
      const [a, b] = [await openStore(kind), await openStore(kind)]
      const first = await a.run('acquire', 'Mika')
      expect(await b.run('holder')).toBe('Mika')
      const waiting = b.run('acquire', 'Ren')
      await eventually(async () => expect(await b.run('isWaiting')).toBe(true))
      await a.run('release')
      expect((await waiting).token).toBeGreaterThan(first.token)
      expect(await a.run('holder')).toBe('Ren')
    },
  )

  it.each(['locks', 'directory'] as const)(
    '%s: frees the lease of a killed tab, and says whose it was',
    async (kind) => {
      const [a, b] = [await openStore(kind, 2000), await openStore(kind)]
      const first = await a.run('acquire', 'Mika')
      a.kill()
      const next = await b.run('acquire', 'Ren')
      expect(next.token).toBeGreaterThan(first.token)
      expect(next.replaced).toBe('Mika')
    },
  )

  it.each(['locks', 'directory'] as const)(
    '%s: counts the permits of all tabs, and lets no reader pass a writer',
    async (kind) => {
      const [a, b] = [await openTab(), await openTab()]
      for (const tab of [a, b]) await tab.run('openStill', kind)
      expect(await a.run('ask', 'Ann', { share: 2 })).toBe('granted')
      expect(await b.run('ask', 'Ben', { share: 'unlimited' })).toBe('granted')
      expect(await a.run('ask', 'writer')).toBe('place 0')
      expect(await b.run('ask', 'reader', { share: 'unlimited' })).toBe('place 1')
      await a.run('leave', 'Ann')
      await b.run('leave', 'Ben')
      await eventually(async () => expect(await a.run('isWoken', 'writer')).toBe(true))
      expect(await a.run('ask', 'writer')).toBe('granted')
      expect(await b.run('isWoken', 'reader')).toBe(false)
      a.kill()
      if (kind === 'directory') return
      await eventually(async () => expect(await b.run('isWoken', 'reader')).toBe(true))
      expect(await b.run('ask', 'reader', { share: 'unlimited' })).toBe('granted')
    },
  )

  it('the web stores in Firefox tells a tab that its Web Lock was taken by force', async () => {
    const [a, b] = [await openStore('locks'), await openStore('locks')]
    await a.run('acquire', 'Mika')
    await b.run('force')
    await eventually(async () => expect(await a.run('isHeld')).toBe(false))
    expect(await b.run('holder')).toBe(null)
  })

  it('the web stores in Firefox uses Web Locks, or a file without them', async () => {
    expect(await (await openTab()).run('open', 'default')).toBe('web-locks')
    const tab = await openTab(withoutWebLocks)
    expect(await tab.run('open', 'default')).toBe('directory')
    await tab.run('acquire', 'Mika')
    expect(await tab.run('holder')).toBe('Mika')
  })
})

describe('the project lock in Firefox', () => {
  const openTab = serve<typeof projectScenarios>('project.ts')

  it('the project lock in Firefox is held by one of two tabs, and by the other after its release', async () => {
    const [a, b] = [await openTab(), await openTab()]
    expect(await a.run('acquire')).toMatchObject({ backend: 'web' })
    await b.run('waitInBackground')
    await eventually(async () => expect(await b.run('types')).toEqual(['attempt']))
    expect(await b.run('holds')).toBe(false)
    await a.run('release')
    await eventually(async () => expect(await b.run('holds')).toBe(true))
    expect(await b.run('tree')).toEqual([])
  })

  it('goes to the next tab when its tab is killed', async () => {
    const [a, b] = [await openTab(), await openTab()]
    await a.run('acquire')
    await b.run('waitInBackground', { standby: true })
    a.kill()
    await eventually(async () => expect(await b.run('holds')).toBe(true))
  })

  it('the project lock in Firefox is lost when another page steals its Web Lock', async () => {
    const [a, b] = [await openTab(), await openTab()]
    await a.run('acquire')
    await b.evaluate(`navigator.locks.request('imgponic:project:autosave', { steal: true }, () => {})`)
    await eventually(async () => expect(await a.run('types')).toContain('error'))
    expect(await a.run('holds')).toBe(false)
  })

  it('the project lock in Firefox uses only project/.lock without Web Locks, and removes it', async () => {
    const tab = await openTab(withoutWebLocks)
    await tab.run('putFile', 'workflow-cookbook/collector.jsonl', '{}')
    expect(await tab.run('acquire')).toMatchObject({ backend: 'fallback' })
    expect(await tab.run('tree')).toContain('project/.lock')
    expect(await tab.run('renew')).toBeGreaterThan(0)
    await tab.run('release')
    expect(await tab.run('tree')).toEqual(['workflow-cookbook/collector.jsonl'])
  })

  it('goes to another tab on the fallback, which removes the .lock of a killed tab by force', async () => {
    const [a, b] = [await openTab(withoutWebLocks), await openTab(withoutWebLocks)]
    await a.run('acquire')
    await a.run('release')
    await b.run('acquire')
    await b.run('release')
    await a.run('acquire')
    await b.run('acquire', { scope: 'history' })
    a.kill()
    expect(await b.run('fails', { retry: { maxAttempts: 1 } })).toEqual({
      code: 'lock-unavailable',
      cause: 'fallback-conflict',
    })
    await b.run('forceAutosave')
    expect(await b.run('acquire')).toMatchObject({ backend: 'fallback', scope: 'autosave' })
  })

  it('the project lock in Firefox is granted at most once when several tabs write the .lock at the same moment', async () => {
    const tabs = await Promise.all(Array.from({ length: 3 }, () => openTab(withoutWebLocks)))
    const grants: number[] = []
    for (let round = 0; round < 5; round++) {
      const moment = Date.now() + 60
      const granted = await Promise.all(tabs.map((tab) => tab.run('acquireAt', moment)))
      grants.push(granted.filter(Boolean).length)
      await Promise.all(tabs.map((tab, n) => granted[n] && tab.run('release')))
    }
    expect(Math.max(...grants)).toBe(1)
  })
})

describe('AutoSave in Firefox', () => {
  const openTab = serve<typeof autosaveScenarios>('autosave.ts')

  it.each([
    ['a Web Lock', 'web', undefined],
    ['the fallback', 'fallback', withoutWebLocks],
  ] as const)(
    'AutoSave in Firefox saves under %s, and a later page restores it',
    async (_, backend, prepare) => {
      const a = await openTab(prepare)
      expect(await a.run('open')).toBe(null)
      await a.run('edit', 'by a', 100_000)
      expect(await a.run('flush')).toMatchObject({ phase: 'idle', unsaved: false, backend })
      await a.run('close')
      const b = await openTab(prepare)
      expect(await b.run('open')).toEqual({ title: 'by a', source: 'current' })
      await b.run('edit', 'by b')
      expect(await b.run('flush')).toMatchObject({ unsaved: false })
      expect(await b.run('history')).toBe(2)
    },
  )

  it('AutoSave in Firefox lets one of two tabs write; the other may write when that tab is killed', async () => {
    const a = await openTab()
    await a.run('open', { eager: true })
    await a.run('edit', 'by a')
    expect(await a.run('flush')).toMatchObject({ phase: 'idle', unsaved: false })
    const b = await openTab()
    await b.run('open', { eager: true, wait: 200 })
    await eventually(async () =>
      expect(await b.run('state')).toMatchObject({ phase: 'read-only', readOnly: 'held', inLine: true }),
    )
    a.kill()
    await eventually(async () =>
      expect(await b.run('state')).toMatchObject({ phase: 'idle', backend: 'web' }),
    )
    await b.run('edit', 'by b')
    expect(await b.run('flush')).toMatchObject({ unsaved: false })
  })

  it('AutoSave in Firefox leaves a complete save when its tab is killed during a save', async () => {
    for (const pause of [0, 7, 23]) {
      const writer = await openTab()
      await writer.run('open')
      writer.run('saveRepeatedly', 300_000).catch(() => {})
      await eventually(async () => expect(await writer.run('acknowledged')).toBeGreaterThan(2))
      await new Promise((resolve) => setTimeout(resolve, pause))
      writer.kill()
      const reader = await openTab()
      const found = await reader.run('open')
      expect(Number(found?.title)).toBeGreaterThanOrEqual(await reader.run('acknowledged'))
      await reader.run('close')
      await reader.evaluate(`(${clearFiles})()`)
      await reader.close()
    }
  })
})

describe('the sync in an extension of Firefox', () => {
  let directory: string
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'holdfast-extension-'))
    await buildExtension(join(import.meta.dirname, 'probe'), directory)
    const path = join(directory, 'manifest.json')
    const manifest = JSON.parse(await readFile(path, 'utf8'))
    // Firefox has no service worker for extensions.
    const background = { scripts: [manifest.background.service_worker], type: manifest.background.type }
    const browser_specific_settings = { gecko: { id: EXTENSION_ID } }
    await writeFile(path, JSON.stringify({ ...manifest, background, browser_specific_settings }))
    await firefox.install(directory)
  })
  afterAll(() => rm(directory, { recursive: true }))

  async function openPage(): Promise<FirefoxPage> {
    const page = await firefox.open(`${EXTENSION_ORIGIN}/page.html`)
    await runProbe(page, 'bootstrap')
    return page
  }

  /** A page with the content script, which starts some time after the page has loaded. */
  async function openTab(site: Site): Promise<FirefoxPage> {
    const tab = await firefox.open(site.url)
    const isReady = `document.documentElement.dataset.probe === 'ready'`
    await eventually(async () => expect(await tab.evaluate(isReady)).toBe(true))
    await inContentScript(tab, 'bootstrap')
    return tab
  }

  it('the sync in an extension of Firefox loses none of 100 concurrent writes of two pages', async () => {
    const [one, two] = [await openPage(), await openPage()]
    await Promise.all([runProbe(one, 'add', 'one', 50), runProbe(two, 'add', 'two', 50)])
    const late = await openPage()
    for (const page of [one, two, late])
      await eventually(async () => expect((await runProbe(page, 'look')).ids).toHaveLength(100))
    expect((await runProbe(late, 'look')).codes).toEqual([])
    await runProbe(one, 'reset')
    await eventually(async () => expect((await runProbe(late, 'look')).ids).toEqual([]))
    for (const page of [one, two, late]) await page.close()
  })

  it('the sync in an extension of Firefox carries out the writes of a content script in the background, and shows it those of a page', async () => {
    await using site = await serveModule(join(import.meta.dirname, 'pages/empty.ts'))
    const tab = await openTab(site)
    await inContentScript(tab, 'add', 'tab', 20)
    // No other page of the extension has a sync.
    const blank = await firefox.open(`${EXTENSION_ORIGIN}/blank.html`)
    const stored = (key: string) => blank.evaluate(`browser.storage.local.get(null).then((all) => ${key})`)
    await eventually(async () =>
      expect(await stored(`all['trackedEntities:index'].ids`)).toEqual(
        Array.from({ length: 20 }, (_, n) => `tab${n}`),
      ),
    )
    await eventually(async () =>
      expect(await stored(`Object.keys(all).filter((key) => key.includes(':log:'))`)).toEqual([]),
    )
    const page = await openPage()
    await runProbe(page, 'add', 'page', 1)
    await runProbe(page, 'remove', 'tab0')
    await runProbe(page, 'paint', '#112233')
    await eventually(async () => {
      const { ids, theme, codes } = await inContentScript(tab, 'look')
      expect({ first: ids[0], last: ids.at(-1), theme, codes }).toEqual({
        ...{ first: 'tab1', last: 'page0', theme: '#112233' },
        codes: [],
      })
    })
    await runProbe(page, 'reset')
    for (const opened of [tab, blank, page]) await opened.close()
  })

  it('the sync in an extension of Firefox keeps both writes of a content script whose page is left in the same turn', async () => {
    await using site = await serveModule(join(import.meta.dirname, 'pages/empty.ts'))
    const page = await openPage()
    const written: string[] = []
    for (let n = 0; n < 5; n++) {
      const tab = await openTab(site)
      const pair = [`first${n}`, `second${n}`]
      // No answer comes from a page that has been left.
      inContentScript(tab, 'writeAndLeave', pair)
      written.push(...pair)
      await eventually(async () => expect((await runProbe(page, 'look')).ids).toEqual(written))
      await tab.close()
    }
  })
})

function inContentScript<N extends keyof Probe>(
  tab: FirefoxPage,
  name: N,
  ...args: Parameters<Probe[N]>
): ReturnType<Probe[N]> {
  return tab.evaluate(`(${passOn})('${name}', ${JSON.stringify(args)})`) as ReturnType<Probe[N]>
}

/** Runs in the page. */
function passOn(operation: PassedOn['operation'], args: readonly unknown[]): Promise<unknown> {
  return new Promise((resolve) => {
    addEventListener('message', function listen({ data }) {
      if ('operation' in data) return
      removeEventListener('message', listen)
      resolve(data.result)
    })
    postMessage({ operation, args })
  })
}
