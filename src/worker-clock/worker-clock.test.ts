import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

class FakeWorker {
  static started: FakeWorker[] = []
  readonly asked: { id: number; ms: number }[] = []
  onmessage: (event: { data: number }) => void = () => {}

  constructor() {
    FakeWorker.started.push(this)
  }

  postMessage(message: { id: number; ms: number }): void {
    this.asked.push(message)
  }
}

class FakePage extends EventTarget {
  hidden = false

  hide(): void {
    this.hidden = true
    this.dispatchEvent(new Event('visibilitychange'))
  }
}

describe('the worker clock', () => {
  let page: FakePage
  beforeEach(() => {
    vi.resetModules()
    vi.useFakeTimers()
    page = new FakePage()
    FakeWorker.started = []
    vi.stubGlobal('document', page)
    vi.stubGlobal('Worker', FakeWorker)
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.unstubAllGlobals()
  })

  const freshClock = async () => (await import('./index.ts')).workerClock()
  const wake = (id: number | undefined) => FakeWorker.started[0]?.onmessage({ data: id ?? -1 })

  it('is one clock for the whole page', async () => {
    const { workerClock } = await import('./index.ts')
    expect(workerClock()).toBe(workerClock())
  })

  it('needs no worker while the page is visible', async () => {
    const run = vi.fn()
    const clock = await freshClock()
    clock.setTimer(run, 1000)
    vi.advanceTimersByTime(1000)
    expect(run).toHaveBeenCalledOnce()
    expect(FakeWorker.started).toEqual([])
  })

  it('hands what is pending to a worker when the page is hidden', async () => {
    const run = vi.fn()
    const clock = await freshClock()
    clock.setTimer(run, 1000)
    vi.advanceTimersByTime(400)
    page.hide()
    const [message] = FakeWorker.started[0]?.asked ?? []
    expect(message?.ms).toBeCloseTo(600)
    wake(message?.id)
    vi.advanceTimersByTime(1000)
    expect(run).toHaveBeenCalledOnce()
  })

  it('runs nothing that was cancelled', async () => {
    const run = vi.fn()
    const clock = await freshClock()
    page.hide()
    const cancel = clock.setTimer(run, 1000)
    cancel()
    cancel()
    wake(FakeWorker.started[0]?.asked[0]?.id)
    vi.advanceTimersByTime(1000)
    expect(run).not.toHaveBeenCalled()
  })

  it.each([
    ['are refused', () => vi.stubGlobal('Worker', throwing)],
    ['stay silent', () => {}],
    ['do not exist', () => vi.stubGlobal('Worker', undefined)],
  ])('keeps the timers of the page where workers %s', async (_, arrange) => {
    arrange()
    const run = vi.fn()
    const clock = await freshClock()
    page.hide()
    clock.setTimer(run, 1000)
    vi.advanceTimersByTime(1000)
    expect(run).toHaveBeenCalledOnce()
  })

  it('works where there is no page', async () => {
    vi.stubGlobal('document', undefined)
    const run = vi.fn()
    const clock = await freshClock()
    clock.setTimer(run, 10)
    vi.advanceTimersByTime(10)
    expect(run).toHaveBeenCalledOnce()
  })
})

function throwing(): never {
  throw new DOMException('refused by the policy', 'SecurityError')
}
