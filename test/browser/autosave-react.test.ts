import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
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
  const writable = (shown: Page) => () => shown.locator('main').getAttribute('data-writable')

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

  it('the hooks, in strict mode keep what is typed while the last save is being restored, and save it', async () => {
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

  it('restore a save that could not be read before, when the tab gets the lock', async () => {
    await run('open')
    await run('type', 'one')
    await becomes(() => page.locator('.hf-label').textContent(), expect.stringMatching(/^Saved/))
    const second = await browser.newPage()
    onTestFinished(() => second.close())
    const inSecond = <N extends keyof Scenarios & string>(name: N, ...args: Parameters<Scenarios[N]>) =>
      runScenario<Scenarios, N>(second, name, ...args)
    await second.goto(site.url)
    await second.waitForFunction('globalThis.scenarios')
    await inSecond('openEagerly')
    await becomes(() => second.locator('output').textContent(), 'one')
    await becomes(() => second.locator('.hf-label').textContent(), 'Another tab is editing')
    expect([await writable(page)(), await writable(second)()]).toEqual(['true', 'false'])
    await inSecond('block', true)
    const saves = await run('savedCount')
    await run('type', 'two')
    await becomes(() => run('savedCount'), saves + 1)
    await becomes(() => page.locator('.hf-label').textContent(), expect.stringMatching(/^Saved/))
    expect(await second.locator('output').textContent()).toBe('one')
    await inSecond('block', false)
    await run('close')
    await becomes(() => second.locator('output').textContent(), 'two')
    await becomes(writable(second), 'true')
  })

  it.each([
    ['Load it', 'theirs: Load it'],
    ['Keep mine', 'mine: Keep mine'],
  ])('let the user decide between two versions: "%s"', async (button, text) => {
    const second = await browser.newPage()
    onTestFinished(() => second.close())
    await second.goto(site.url)
    await second.waitForFunction('globalThis.scenarios')
    await runScenario<Scenarios, 'openEagerly'>(second, 'openEagerly')
    await becomes(writable(second), 'true')
    await run('open')
    await becomes(writable(page), 'true')
    await run('type', `mine: ${button}`)
    await becomes(() => page.locator('.hf-label').textContent(), 'Another tab is editing')
    await runScenario<Scenarios, 'type'>(second, 'type', `theirs: ${button}`)
    await becomes(() => second.locator('.hf-label').textContent(), expect.stringMatching(/^Saved/))
    await runScenario<Scenarios, 'close'>(second, 'close')
    await page.getByRole('button', { name: button }).click()
    await becomes(() => page.locator('output').textContent(), text)
    await becomes(() => page.locator('.hf-label').textContent(), expect.stringMatching(/^Saved/))
    await becomes(writable(page), 'true')
    await page.reload()
    await run('open')
    await becomes(() => page.locator('output').textContent(), text)
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
    ['saved', { savedAt: Date.now() }, 'held', /^Saved \d\d:\d\d$/, { speaks: 'status' }],
    ['saved long ago', { savedAt: 0 }, 'held', /^Saved Jan 1, 1970, \d\d:\d\d$/, { speaks: 'status' }],
    [
      'saved, but a newer save was skipped',
      { savedAt: 0, skipped: [{ id: '2030-01-01T00:00:00.000Z', savedAt: 0, reason: 'damaged' }] },
      'lost',
      /damaged/,
      { speaks: 'alert' },
    ],
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
    [
      'saved, but another tab has left newer edits',
      { savedAt: 0, stale: true },
      'waiting',
      /^Newer/,
      { speaks: 'status' },
    ],
    ['unsaved', { phase: 'debouncing', unsaved: true }, 'pending', /^Unsaved/, {}],
    ['writing', { phase: 'writing', unsaved: true }, 'pending', /^Saving/, {}],
    ['opening', { phase: 'awaiting-lock', unsaved: false }, 'pending', /^Opening/, {}],
    ['waiting for the lock', { phase: 'awaiting-lock', unsaved: true }, 'waiting', /^Waiting/, {}],
    ['trying again', { phase: 'backoff' }, 'waiting', /trying again/, { speaks: 'status', retry: true }],
    [
      'read-only, in the queue',
      { ...readOnly, readOnly: 'held', inLine: true },
      'lost',
      /^Another tab is editing/,
      { speaks: 'alert', takeOver: true },
    ],
    [
      'read-only, and asking the other tab',
      { ...readOnly, readOnly: 'held', takingOver: true },
      'pending',
      /^Asking/,
      { speaks: 'status', retry: true },
    ],
    [
      'read-only, not in the queue',
      { ...readOnly, readOnly: 'held' },
      'lost',
      /^Another tab/,
      { speaks: 'alert', takeOver: true },
    ],
    [
      'lost',
      { ...readOnly, readOnly: 'lost', inLine: true },
      'lost',
      /took over/,
      { speaks: 'alert', takeOver: true },
    ],
    ['in conflict', { ...readOnly, readOnly: 'conflict' }, 'lost', /another tab/, { speaks: 'alert' }],
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
      const { speaks, retry, takeOver } = expected as Partial<{
        speaks: 'status' | 'alert'
        retry: boolean
        takeOver: boolean
      }>
      const shown = await run('indicate', state)
      expect(shown).toMatchObject({ tone, detail: true, icon: true })
      expect(shown.calls).toEqual({ flush: retry ? 1 : 0, takeover: takeOver ? 1 : 0 })
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

  it('the indicator is 24 pixels high, and works by keyboard', async () => {
    await page.addStyleTag({ path: join(root, 'src/react/styles.css') })
    await run('open')
    const pill = page.locator('.hf-autosave summary')
    expect((await pill.boundingBox())?.height).toBe(24)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    expect(await page.locator('.hf-detail').isVisible()).toBe(true)
  })

  it('the indicator closes its details with Escape and with a click outside, and keeps the focus', async () => {
    await run('open')
    const detail = page.locator('.hf-detail')
    const pill = page.locator('.hf-autosave summary')
    await pill.click()
    await becomes(() => detail.isVisible(), true)
    await page.keyboard.press('Escape')
    await becomes(() => detail.isVisible(), false)
    expect(await pill.evaluate((element) => element === document.activeElement)).toBe(true)
    await page.keyboard.press('Enter')
    await becomes(() => detail.isVisible(), true)
    await page.mouse.click(5, 500)
    await becomes(() => detail.isVisible(), false)
  })

  it('the indicator has the same size in every state, whatever the styles of the page', async () => {
    await page.addStyleTag({ path: join(root, 'src/react/styles.css') })
    const measure = () => run('sizes')
    const [own, ...others] = await measure()
    expect(own).toMatchObject({ width: 320, height: 24 })
    for (const other of others) expect(other).toEqual(own)
    await page.addStyleTag({
      content: `button { min-height: 60px; padding: 20px; font: 30px serif; text-transform: uppercase; margin: 9px }
        summary { display: list-item; padding: 12px; list-style: square } details { padding: 20px; border: 3px solid }
        p { margin: 40px } span { font-size: 40px; display: block } svg { width: 100%; height: 80px; display: block }`,
    })
    for (const other of await measure()) expect(other).toEqual(own)
  })

  it.each(['light', 'dark'] as const)(
    'has colours that differ for each state, and can be read: %s',
    async (theme) => {
      await page.addStyleTag({ path: join(root, 'src/react/styles.css') })
      await page.addStyleTag({ content: ':root { color-scheme: light dark }' })
      await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' })
      const tones = await run('colours')
      for (const { tone, text, fill } of tones)
        expect([tone, contrast(text, fill) >= 4.5]).toEqual([tone, true])
      for (const [n, one] of tones.entries())
        for (const other of tones.slice(n + 1)) {
          const difference = distance(one.text, other.text) + distance(one.fill, other.fill)
          expect([one.tone, other.tone, difference > 60]).toEqual([one.tone, other.tone, true])
        }
    },
  )

  it('the indicator does not move if the user prefers reduced motion', async () => {
    await page.setContent('<div class="holdfast hf-autosave"><svg data-icon="arrows"></svg></div>')
    await page.addStyleTag({ path: join(root, 'src/react/styles.css') })
    const animation = () => page.locator('svg').evaluate((icon) => getComputedStyle(icon).animationName)
    await page.emulateMedia({ reducedMotion: 'no-preference' })
    expect(await animation()).toBe('hf-turn')
    await page.emulateMedia({ reducedMotion: 'reduce' })
    expect(await animation()).toBe('none')
  })
})

type Colour = readonly number[]

function contrast(a: Colour, b: Colour): number {
  const [light = 0, dark = 0] = [luminance(a), luminance(b)].sort((x, y) => y - x)
  return (light + 0.05) / (dark + 0.05)
}

function luminance(colour: Colour): number {
  const [red = 0, green = 0, blue = 0] = colour.map((part) => {
    const share = part / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function distance(a: Colour, b: Colour): number {
  return Math.hypot(...a.map((part, n) => part - (b[n] ?? 0)))
}
