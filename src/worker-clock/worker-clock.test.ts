import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

class FakeWorker {
  static started: FakeWorker[] = []
  readonly asked: number[] = []
  onmessage: () => void = () => {}

  constructor() {
    FakeWorker.started.push(this)
  }

  postMessage(ms: number): void {
    this.asked.push(ms)
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
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

  it('the worker clock is one clock for the whole page', async () => {
    const { workerClock } = await import('./index.ts')
    expect(workerClock()).toBe(workerClock())
  })

  it('the worker clock needs no worker while the page is visible', async () => {
    const run = vi.fn()
    const clock = await freshClock()
    clock.setTimer(run, 1000)
    await pass(999)
    expect(run).not.toHaveBeenCalled()
    await pass(1)
    expect(run).toHaveBeenCalledOnce()
    expect(FakeWorker.started).toEqual([])
  })

  it('the worker clock runs timers in the order of their due times', async () => {
    const ran: number[] = []
    const clock = await freshClock()
    for (const ms of [30, 10, 20, 10]) clock.setTimer(() => ran.push(ms), ms)
    await pass(15)
    expect(ran).toEqual([10, 10])
    await pass(15)
    expect(ran).toEqual([10, 10, 20, 30])
  })

  it('the worker clock sets one alarm for all pending timers', async () => {
    const clock = await freshClock()
    const cancels = Array.from({ length: 50 }, (_, n) => clock.setTimer(() => {}, 5000 + n))
    expect(vi.getTimerCount()).toBe(1)
    for (const cancel of cancels) cancel()
    await pass(5100)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('the worker clock is woken by a worker when the page is hidden', async () => {
    const run = vi.fn()
    const clock = await freshClock()
    clock.setTimer(run, 1000)
    await pass(400)
    page.hide()
    const [worker] = FakeWorker.started
    expect(worker?.asked).toEqual([600])
    clock.setTimer(run, 100)
    expect(worker?.asked).toEqual([600, 100])
    // Time passes, but the timers of the page do not run.
    vi.setSystemTime(Date.now() + 600)
    vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 600)
    worker?.onmessage()
    await Promise.resolve()
    expect(run).toHaveBeenCalledTimes(2)
  })

  it('the worker clock does not run cancelled timers, even if another timer cancels one that is due at the same time', async () => {
    const run = vi.fn()
    const clock = await freshClock()
    clock.setTimer(() => cancelNext(), 1000)
    const cancelNext = clock.setTimer(run, 1000)
    clock.setTimer(run, 500)()
    await pass(2000)
    expect(run).not.toHaveBeenCalled()
  })

  it.each([
    ['are refused', () => vi.stubGlobal('Worker', throwing)],
    ['stay silent', () => {}],
    ['do not exist', () => vi.stubGlobal('Worker', undefined)],
  ])('the worker clock keeps the timers of the page if workers %s', async (_, arrange) => {
    arrange()
    const run = vi.fn()
    const clock = await freshClock()
    page.hide()
    clock.setTimer(run, 1000)
    await pass(1000)
    expect(run).toHaveBeenCalledOnce()
  })

  it("the worker clock is the system's clock if there is no page", async () => {
    vi.stubGlobal('document', undefined)
    const { systemClock } = await import('../core/index.ts')
    expect(await freshClock()).toBe(systemClock)
  })
})

function throwing(): never {
  throw new DOMException('refused by the policy', 'SecurityError')
}
