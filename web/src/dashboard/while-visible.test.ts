import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { WhileVisible } from './while-visible.ts'

class FakePage extends EventTarget {
  hidden = false

  turn(hidden: boolean): void {
    this.hidden = hidden
    this.dispatchEvent(new Event('visibilitychange'))
  }
}

describe('figures that are read while the page is visible', () => {
  const read = vi.fn(async () => {})
  let page: FakePage
  let figures: WhileVisible
  beforeEach(() => {
    vi.useFakeTimers()
    page = new FakePage()
    vi.stubGlobal('document', page)
    read.mockReset()
    figures = new WhileVisible(read)
  })
  afterEach(() => {
    figures.close()
    vi.unstubAllGlobals()
    vi.useRealTimers()
  })
  const readsWithin = async (ms: number) => {
    read.mockClear()
    await vi.advanceTimersByTimeAsync(ms)
    return read.mock.calls.length
  }

  it('figures that are read while the page is visible are read at once, and every two seconds', async () => {
    expect(read).toHaveBeenCalledTimes(1)
    expect(await readsWithin(20_000)).toBe(10)
  })

  it('figures that are read while the page is visible are not read while it is hidden, and at once when it is shown', async () => {
    page.turn(true)
    figures.hurry()
    expect(await readsWithin(60_000)).toBe(0)
    page.turn(false)
    expect(read).toHaveBeenCalledTimes(1)
    expect(await readsWithin(20_000)).toBe(10)
  })

  it('figures that are read while the page is visible are read soon after a change, however many there are', async () => {
    for (let n = 0; n < 100; n++) figures.hurry()
    expect(await readsWithin(999)).toBe(0)
    expect(await readsWithin(1)).toBe(1)
    expect(await readsWithin(1999)).toBe(0)
  })

  it('figures that are read while the page is visible are read again soon if there was a change while they were read', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    read.mockReturnValueOnce(promise)
    await readsWithin(5000)
    figures.hurry()
    expect(await readsWithin(60_000)).toBe(0)
    resolve()
    expect(await readsWithin(1000)).toBe(1)
  })

  it('figures that are read while the page is visible are not read any more once it is closed', async () => {
    figures.close()
    page.turn(false)
    figures.hurry()
    expect(await readsWithin(60_000)).toBe(0)
  })
})
