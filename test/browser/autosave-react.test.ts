import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { eventually } from '../eventually.ts'
import { launchChromium, type Site, serveModule } from './chromium.ts'
import type { scenarios } from './pages/autosave-react.tsx'
import { runScenario } from './run-scenario.ts'

type Scenarios = typeof scenarios

let browser: BrowserContext
let site: Site
let page: Page
beforeAll(async () => {
  site = await serveModule(join(import.meta.dirname, 'pages/autosave-react.tsx'))
  browser = await launchChromium()
})
beforeEach(async () => {
  page = await browser.newPage()
  await page.goto(site.url)
  await page.waitForFunction('globalThis.scenarios')
})
afterEach(async () => {
  await page.close()
})
afterAll(async () => {
  await browser?.close()
  await site?.[Symbol.asyncDispose]()
})

const run = <N extends keyof Scenarios & string>(name: N, ...args: Parameters<Scenarios[N]>) =>
  runScenario<Scenarios, N>(page, name, ...args)
const becomes = <T>(read: () => Promise<T>, value: unknown) =>
  eventually(async () => expect(await read()).toEqual(value))

describe('the hooks, in strict mode', () => {
  const phase = () => page.locator('main').getAttribute('data-phase')

  it('save a value when it changes, restore it at the next start, and release the lock with the component', async () => {
    await run('open')
    await run('type', 'hello')
    await becomes(() => page.locator('main').getAttribute('data-lock'), 'held')
    await becomes(phase, 'idle')
    await becomes(() => page.locator('.hf-label').textContent(), expect.stringMatching(/^Saved/))
    await run('speak', 'ja')
    await becomes(() => page.locator('.hf-label').textContent(), expect.stringMatching(/に保存$/))
    await becomes(() => run('heldLocks'), ['react:project:autosave'])
    expect(await run('savedCount')).toBe(1)
    await run('close')
    await becomes(() => run('heldLocks'), [])
    await page.reload()
    await run('open')
    await becomes(() => page.locator('output').textContent(), 'hello')
    // A restored value is not an edit: it is not saved again and needs no lock.
    await page.waitForTimeout(100)
    expect(await run('heldLocks')).toEqual([])
    expect(await run('savedCount')).toBe(1)
  })

  it('keep what is typed while the last save is being restored, and save it', async () => {
    const saves = await run('savedCount').catch(() => 0)
    await run('open')
    await run('type', 'before')
    await becomes(() => run('savedCount'), saves + 1)
    // The file is written before the commit, and a save without its commit is not current after a reload.
    await becomes(() => page.locator('.hf-label').textContent(), expect.stringMatching(/^Saved/))
    await page.reload()
    await run('open', 'typed meanwhile')
    await becomes(() => run('savedCount'), saves + 2)
    expect(await page.locator('output').textContent()).toBe('typed meanwhile')
  })

  it('show the project lock, and acquire and release it', async () => {
    await run('openLock')
    const button = page.getByRole('button')
    expect(await button.textContent()).toBe('free')
    await button.click()
    await becomes(() => button.textContent(), 'held')
    await becomes(() => run('heldLocks'), ['react:project:history'])
    await button.click()
    await becomes(() => button.textContent(), 'free')
    await button.click()
    await becomes(() => button.textContent(), 'held')
    await run('close')
    await becomes(() => run('heldLocks'), [])
  })

  it('show that the project lock was lost', async () => {
    await run('openLock')
    const button = page.getByRole('button')
    await button.click()
    await becomes(() => button.textContent(), 'held')
    await run('takeLock')
    await becomes(() => button.textContent(), 'free')
    expect(await button.getAttribute('data-error')).toBe('lock-renewal-failed')
  })

  it.each([
    ['the caller', 'acquire'],
    ['another part of the page', 'acquireBeside'],
  ] as const)('show that nobody waits after %s has aborted', async (_, ask) => {
    await run('takeLock')
    await run('openLock')
    const button = page.getByRole('button')
    await run(ask)
    await becomes(() => button.textContent(), 'waiting')
    expect(await run('abort')).toBeNull()
    await becomes(() => button.textContent(), 'free')
  })

  it('stop waiting for the project lock when the component is unmounted', async () => {
    await run('takeLock')
    await run('openLock')
    const button = page.getByRole('button')
    await button.click()
    await becomes(() => button.textContent(), 'waiting')
    await run('close')
    await becomes(() => run('waitingLocks'), [])
    await run('giveBack')
    await becomes(() => run('heldLocks'), [])
  })
})

describe('the indicator', () => {
  const readOnly = { phase: 'read-only', unsaved: true } as const
  it.each([
    ['saved', { savedAt: 0 }, 'held', /^Saved \d\d:\d\d$/, { speaks: 'status' }],
    [
      'saved by the fallback',
      { savedAt: 0, backend: 'fallback' },
      'fallback',
      /basic lock/,
      { speaks: 'status' },
    ],
    [
      'saved by the fallback, with a lock only for the save',
      { savedAt: 0, savedBy: 'fallback' },
      'fallback',
      /basic lock/,
      { speaks: 'status' },
    ],
    ['unsaved', { phase: 'debouncing', unsaved: true }, 'pending', /^Unsaved/, {}],
    ['writing', { phase: 'writing', unsaved: true }, 'pending', /^Saving/, {}],
    ['waiting for the lock', { phase: 'awaiting-lock' }, 'waiting', /^Waiting/, {}],
    ['trying again', { phase: 'backoff' }, 'waiting', /trying again/, { speaks: 'status', retry: true }],
    [
      'read-only, in the queue',
      { ...readOnly, readOnly: 'held', inLine: true },
      'lost',
      /another tab/,
      { speaks: 'alert' },
    ],
    [
      'read-only, not in the queue',
      { ...readOnly, readOnly: 'held' },
      'lost',
      /another tab/,
      { speaks: 'alert', retry: true },
    ],
    ['lost', { ...readOnly, readOnly: 'lost', inLine: true }, 'lost', /took over/, { speaks: 'alert' }],
    ['in conflict', { ...readOnly, readOnly: 'conflict' }, 'lost', /elsewhere/, { speaks: 'alert' }],
    [
      'read-only, denied',
      { ...readOnly, readOnly: 'denied' },
      'lost',
      /no access/,
      { speaks: 'alert', retry: true },
    ],
    ['unsupported', { ...readOnly, readOnly: 'unsupported' }, 'lost', /no lock/, { speaks: 'alert' }],
    [
      'full',
      { phase: 'error', code: 'quota-exceeded' },
      'lost',
      /no space/,
      { speaks: 'alert', retry: true },
    ],
    [
      'refused',
      { phase: 'error', code: 'not-allowed' },
      'lost',
      /no access/,
      { speaks: 'alert', retry: true },
    ],
    ['unreadable', { phase: 'error', code: 'read-failed' }, 'lost', /^Not saved$/, { speaks: 'alert' }],
    ['off', { phase: 'disabled' }, 'unknown', /off$/, { speaks: 'status' }],
  ] as const)(
    'shows the state "%s" in words, colour and both languages',
    async (_, state, tone, words, expected) => {
      const { speaks, retry = false } = expected as { speaks?: 'status' | 'alert'; retry?: boolean }
      const shown = await run('indicate', state)
      expect(shown).toMatchObject({ tone, detail: true, icon: true, retried: retry ? 1 : 0 })
      expect(shown.label).toMatch(words)
      expect({ status: shown.status, alert: shown.alert }).toEqual({
        status: speaks === 'status' ? shown.label : '',
        alert: speaks === 'alert' ? shown.label : '',
      })
      const inJapanese = await run('indicate', state, 'ja')
      expect(inJapanese.label).toMatch(/[\u3040-\u30ff\u4e00-\u9fff]/)
      expect(inJapanese.tone).toBe(tone)
    },
  )

  it('is 24 pixels high, and works by keyboard', async () => {
    await page.addStyleTag({ path: join(root, 'src/react/styles.css') })
    await run('open')
    const pill = page.locator('.hf-autosave summary')
    expect((await pill.boundingBox())?.height).toBe(24)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    expect(await page.locator('.hf-detail').isVisible()).toBe(true)
  })

  it('does not move if the user prefers reduced motion', async () => {
    await page.setContent('<div class="holdfast hf-autosave"><svg data-icon="arrows"></svg></div>')
    await page.addStyleTag({ path: join(root, 'src/react/styles.css') })
    const animation = () => page.locator('svg').evaluate((icon) => getComputedStyle(icon).animationName)
    await page.emulateMedia({ reducedMotion: 'no-preference' })
    expect(await animation()).toBe('hf-turn')
    await page.emulateMedia({ reducedMotion: 'reduce' })
    expect(await animation()).toBe('none')
  })
})
