import { describe, expect, it } from 'vitest'
import { FakeClock, type FakeContext, fakeBrowser } from '../index.ts'

describe('the fake browser', () => {
  it('does the same again for the same random numbers, and something else for others', async () => {
    const one = await logOfRun(1)
    expect(one.length).toBeGreaterThan(40)
    expect(await logOfRun(1)).toEqual(one)
    expect(await logOfRun(2)).not.toEqual(one)
  })

  it('keeps the order of what one context sends and hears, whatever the delays', async () => {
    const clock = new FakeClock()
    const browser = fakeBrowser({ clock, random: chance(3), latency: [0, 50] })
    const [writer, reader] = [browser.openPage(), browser.openPage()]
    const heard: unknown[] = []
    reader.api.storage.onChanged.addListener(({ n }) => heard.push(n?.newValue))
    const numbers = Array.from({ length: 20 }, (_, n) => n)
    for (const n of numbers) void writer.api.storage.local.set({ n })
    await clock.advance(3000)
    expect(heard).toEqual(numbers)
  })

  it('wakes a dead worker for a message and for a change, if it listened', async () => {
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

  it('carries out what a killed context had sent before it frees its locks, and tells it nothing more', async () => {
    const clock = new FakeClock()
    const browser = fakeBrowser({ clock, latency: [5, 5] })
    const [dying, next] = [browser.openPage(), browser.openPage()]
    const log: string[] = []
    const work = (context: FakeContext, name: string) => async () => {
      log.push(`${name} sees ${JSON.stringify(await context.api.storage.local.get(null))}`)
      await context.api.storage.local.set({ by: name })
      log.push(`${name} is told`)
    }
    void dying.locks.request('l', work(dying, 'dying'))
    void next.locks.request('l', work(next, 'next'))
    dying.clock.setTimer(() => log.push('a timer of the dead'), 1000)
    await clock.advance(22)
    dying.kill()
    await clock.advance(2000)
    expect(log).toEqual(['dying sees {}', 'next sees {"by":"dying"}', 'next is told'])
  })
})

async function logOfRun(seed: number): Promise<string[]> {
  const clock = new FakeClock()
  const browser = fakeBrowser({ clock, random: chance(seed), latency: [0, 20] })
  const log: string[] = []
  const pages = [browser.openPage(), browser.openPage(), browser.openPage()]
  for (const [at, { api }] of pages.entries()) {
    api.storage.onChanged.addListener((changes) => log.push(`${at} hears ${Object.keys(changes)}`))
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
