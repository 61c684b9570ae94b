import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Countdown, later, now } from './countdown.ts'

const GRACE_MS = 5000

describe('the countdown of a command', () => {
  let sent: string[]
  let countdown: Countdown
  beforeEach(() => {
    vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'Date', 'hrtime'],
    })
    sent = []
    countdown = new Countdown(GRACE_MS, (signal) => sent.push(signal))
  })
  afterEach(() => void vi.useRealTimers())

  /** One millisecond more, for the immediate that a timer starts. */
  const pass = (ms: number) => {
    vi.advanceTimersByTime(ms)
    vi.advanceTimersByTime(1)
  }

  const extendBy = (ms: number) => countdown.extend(later(now(), ms))

  it('the countdown of a command sends SIGTERM the grace before SIGKILL', () => {
    extendBy(20_000)
    pass(14_990)
    expect(sent).toEqual([])
    pass(10)
    expect(sent).toEqual(['SIGTERM'])
    pass(4980)
    expect(sent).toEqual(['SIGTERM'])
    pass(20)
    expect(sent).toEqual(['SIGTERM', 'SIGKILL'])
  })

  it('starts again with every renewal', () => {
    for (let n = 0; n < 5; n++) {
      extendBy(20_000)
      pass(10_000)
    }
    expect(sent).toEqual([])
  })

  it('the countdown of a command ignores an answer that a later one has overtaken', () => {
    const early = later(now(), 10_000)
    extendBy(20_000)
    countdown.extend(early)
    pass(10_000)
    expect(sent).toEqual([])
  })

  it('the countdown of a command reads a renewal that came while the process was delayed before it sends a signal', () => {
    extendBy(20_000)
    vi.setSystemTime(Date.now() + 60_000)
    // Due at the same moment as the check of the countdown, and run after its timer.
    setTimeout(() => extendBy(20_000), 1000)
    pass(1000)
    expect(sent).toEqual([])
  })

  it('the countdown of a command does not stop after SIGTERM, even if the lease is renewed again', () => {
    extendBy(20_000)
    pass(16_000)
    extendBy(20_000)
    pass(4000)
    expect(sent).toEqual(['SIGTERM', 'SIGKILL'])
  })

  it('the countdown of a command sends no SIGTERM if another process has sent it', () => {
    extendBy(20_000)
    countdown.markTerminating()
    pass(20_000)
    expect(sent).toEqual(['SIGKILL'])
  })

  it('the countdown of a command ends a command early with the grace, but no later than planned', () => {
    extendBy(20_000)
    countdown.endNow()
    expect(sent).toEqual(['SIGTERM'])
    pass(GRACE_MS)
    expect(sent).toEqual(['SIGTERM', 'SIGKILL'])

    sent = []
    const late = new Countdown(GRACE_MS, (signal) => sent.push(signal))
    late.extend(later(now(), 1000))
    late.endNow()
    pass(1000)
    expect(sent).toEqual(['SIGTERM', 'SIGKILL'])
  })

  it('kills at once when the lease is lost', () => {
    extendBy(20_000)
    countdown.killNow()
    expect(sent).toEqual(['SIGKILL'])
  })

  it('notices that the wall clock has passed while the machine slept', () => {
    extendBy(20_000)
    vi.setSystemTime(Date.now() + 60_000)
    pass(1000)
    expect(sent).toEqual(['SIGKILL'])
  })

  it('knows that its time has come before its timer has run', () => {
    extendBy(20_000)
    vi.setSystemTime(Date.now() + 14_000)
    expect(countdown.isDue).toBe(false)
    vi.setSystemTime(Date.now() + 1000)
    expect(countdown.isDue).toBe(true)
    expect(sent).toEqual([])
  })

  it('the countdown of a command sends nothing once it is cancelled', () => {
    extendBy(20_000)
    countdown.cancel()
    pass(60_000)
    expect(sent).toEqual([])
  })
})
