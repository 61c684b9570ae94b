import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Countdown } from './countdown.ts'
import { later, present } from './moment.ts'

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

  /** A millisecond more, for what the end of it leaves for right after. */
  const pass = (ms: number) => {
    vi.advanceTimersByTime(ms)
    vi.advanceTimersByTime(1)
  }

  const extendBy = (ms: number) => countdown.extend(later(present(), ms))

  it('asks the command to stop the grace before it kills it', () => {
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

  it('begins anew with every renewal', () => {
    for (let n = 0; n < 5; n++) {
      extendBy(20_000)
      pass(10_000)
    }
    expect(sent).toEqual([])
  })

  it('does not go back for an answer that was overtaken', () => {
    const early = later(present(), 10_000)
    extendBy(20_000)
    countdown.extend(early)
    pass(10_000)
    expect(sent).toEqual([])
  })

  it('hears of a renewal that came while it was held up, before it acts', () => {
    extendBy(20_000)
    vi.setSystemTime(Date.now() + 60_000)
    // Behind the look of the countdown, which is due at the same moment.
    setTimeout(() => extendBy(20_000), 1000)
    pass(1000)
    expect(sent).toEqual([])
  })

  it('goes on when the command was asked, though the lease comes back', () => {
    extendBy(20_000)
    pass(16_000)
    extendBy(20_000)
    pass(4000)
    expect(sent).toEqual(['SIGTERM', 'SIGKILL'])
  })

  it('does not ask again what another has asked', () => {
    extendBy(20_000)
    countdown.asked()
    pass(20_000)
    expect(sent).toEqual(['SIGKILL'])
  })

  it('ends a command early with the grace, but no later than it was to be', () => {
    extendBy(20_000)
    countdown.endNow()
    expect(sent).toEqual(['SIGTERM'])
    pass(GRACE_MS)
    expect(sent).toEqual(['SIGTERM', 'SIGKILL'])

    sent = []
    const late = new Countdown(GRACE_MS, (signal) => sent.push(signal))
    late.extend(later(present(), 1000))
    late.endNow()
    pass(1000)
    expect(sent).toEqual(['SIGTERM', 'SIGKILL'])
  })

  it('kills at once when the lease is gone', () => {
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

  it('sends nothing once it is cancelled', () => {
    extendBy(20_000)
    countdown.cancel()
    pass(60_000)
    expect(sent).toEqual([])
  })
})
