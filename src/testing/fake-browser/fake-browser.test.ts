import { describe, expect, it, vi } from 'vitest'
import { type FakeBrowserOptions, FakeClock, type FakeContext, fakeBrowser } from '../index.ts'

describe('the fake browser', () => {
  it('the fake browser repeats a run with the same random numbers, and does something else with others', async () => {
    const one = await logOfRun(1)
    expect(one.length).toBeGreaterThan(40)
    expect(await logOfRun(1)).toEqual(one)
    expect(await logOfRun(2)).not.toEqual(one)
  })

  it('the fake browser keeps the order of the calls and events of one context, whatever the delays are', async () => {
    const clock = new FakeClock()
    const browser = fakeBrowser({ clock, random: chance(3), latency: [0, 50] })
    const [writer, reader] = [browser.openPage(), browser.openPage()]
    const received: unknown[] = []
    reader.api.storage.onChanged.addListener(({ n }) => received.push(n?.newValue))
    const numbers = Array.from({ length: 20 }, (_, n) => n)
    for (const n of numbers) void writer.api.storage.local.set({ n })
    await clock.advance(3000)
    expect(received).toEqual(numbers)
  })

  it('starts a dead worker for a message and for a change that it had listeners for', async () => {
    const clock = new FakeClock()
    const browser = fakeBrowser({ clock })
    const page = browser.openPage()
    let starts = 0
    browser.registerWorker(({ api }) => {
      starts++
      api.runtime.onMessage.addListener((_message, _sender, respond) => {
        respond(starts)
        return undefined
      })
      api.storage.onChanged.addListener(() => {})
    })
    for (const wake of [
      () => page.api.runtime.sendMessage('hello'),
      () => page.api.storage.local.set({ starts }),
    ]) {
      browser.worker?.kill()
      expect(browser.worker).toBeUndefined()
      void wake()
      await clock.advance(100)
      expect(browser.worker?.alive).toBe(true)
    }
    expect(starts).toBe(3)
  })

  it('the fake browser carries out what a killed context had sent before it frees its locks, and sends it no answer', async () => {
    const clock = new FakeClock()
    const browser = fakeBrowser({ clock, latency: [5, 5] })
    const [dying, next] = [browser.openPage(), browser.openPage()]
    const log: string[] = []
    const work = (context: FakeContext, name: string) => async () => {
      log.push(`${name} sees ${JSON.stringify(await context.api.storage.local.get(null))}`)
      await context.api.storage.local.set({ by: name })
      log.push(`${name} gets the answer`)
    }
    void dying.locks.request('l', work(dying, 'dying'))
    void next.locks.request('l', work(next, 'next'))
    dying.clock.setTimer(() => log.push('a timer of the killed context'), 1000)
    await clock.advance(22)
    dying.kill()
    await clock.advance(2000)
    expect(log).toEqual(['dying sees {}', 'next sees {"by":"dying"}', 'next gets the answer'])
  })

  it.each<[string, unknown]>([
    ['options: expected an object, got 10n', 10n],
    ['clock: expected a Clock (with now, monotonic, setTimer, random), got undefined', {}],
    ['random: expected a function, got 5', { clock: new FakeClock(), random: 5 }],
    ['latency: expected [min, max], got 5', { clock: new FakeClock(), latency: 5 }],
    ['latency[0]: expected whole milliseconds', { clock: new FakeClock(), latency: ['soon', 5] }],
    ['latency[1]: expected whole milliseconds from 5', { clock: new FakeClock(), latency: [5, 4] }],
    ['messageLatency[0]: expected', { clock: new FakeClock(), messageLatency: [] }],
    ['flavour: expected "chrome" or "firefox", got null', { clock: new FakeClock(), flavour: null }],
    ['quotaBytes: expected a whole number from 0', { clock: new FakeClock(), quotaBytes: 10n }],
    ['deliveries: expected a function, got 2', { clock: new FakeClock(), deliveries: 2 }],
  ])('refuses bad options: %s', (message, options) => {
    expect(() => fakeBrowser(options as FakeBrowserOptions)).toThrow(
      expect.objectContaining({ code: 'invalid-argument', message: expect.stringContaining(message) }),
    )
  })

  it('the fake browser takes a latency as text', async () => {
    const clock = new FakeClock()
    const { api } = fakeBrowser({ clock, latency: ['1s', '1s'] }).openPage()
    const got = vi.fn()
    void api.storage.local.get(null).then(got)
    await clock.advance(1999)
    expect(got).not.toHaveBeenCalled()
    await clock.advance(1)
    expect(got).toHaveBeenCalled()
  })
})

async function logOfRun(seed: number): Promise<string[]> {
  const clock = new FakeClock()
  const browser = fakeBrowser({ clock, random: chance(seed), latency: [0, 20] })
  const log: string[] = []
  const pages = [browser.openPage(), browser.openPage(), browser.openPage()]
  for (const [at, { api }] of pages.entries()) {
    api.storage.onChanged.addListener((changes) => log.push(`${at} is notified of ${Object.keys(changes)}`))
    api.runtime.onMessage.addListener((message) => {
      log.push(`${at} gets ${message}`)
      return undefined
    })
  }
  for (const [at, { api }] of pages.entries())
    for (const n of [1, 2, 3]) {
      void api.storage.local.set({ [`${at}-${n}`]: n })
      void api.runtime.sendMessage(`${at}-${n}`)
    }
  await clock.advance(1000)
  return log
}

/** A simple sequence of numbers from 0 up to 1. */
function chance(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 16807) % 2147483647
    return state / 2147483647
  }
}
