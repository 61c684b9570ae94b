/**
 * The bug zoo: faults planted from outside, by wrapping a store or replacing a part, each of which the simulation must
 * catch. A test bench that lets one of them through is worth nothing.
 */
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Held } from '../../src/core/state.ts'
import { simulate } from './simulation.ts'
import { storeBugs } from './zoo-stores.ts'

const SEEDS = 400
/** Some faults need a rare schedule; the search ends with the first that shows it. */
const SEEDS_TO_CATCH = 5000

describe('the simulation', () => {
  it('the simulation passes the store without a planted fault', async () => {
    expect(await firstViolation((seed) => simulate(seed), SEEDS)).toBeUndefined()
  })

  for (const { name, plant } of storeBugs) {
    it(`catches: ${name}`, async () => {
      expect(await firstViolation((seed) => simulate(seed, { store: plant }))).toMatch(
        /hold .* at the same time|was granted by .* beside/,
      )
    })
  }
})

describe('the simulation, with a part of the core replaced', () => {
  afterEach(() => {
    vi.doUnmock('../../src/core/state.ts')
    vi.doUnmock('../../src/base/wake-signal.ts')
    vi.doUnmock('../../src/core/release.ts')
    vi.resetModules()
  })

  type State = typeof import('../../src/core/state.ts')

  it('catches: a deadline that is counted from the answer', async () => {
    await replaceHold((hold) => (granted, held) => hold({ ...granted, sent: granted.at }, held))
    expect(await firstViolationOfReplaced()).toMatch(/hold .* at the same time|after its deadline/)
  })

  it('catches: a deadline on the wall clock alone', async () => {
    await replaceHeld((held) => ({ ...held, until: { ...held.until, mono: Infinity } }))
    expect(await firstViolationOfReplaced()).toMatch(/hold .* at the same time|after its deadline/)
  })

  it('catches: a deadline on the monotonic clock alone', async () => {
    await replaceHeld((held) => ({ ...held, until: { ...held.until, wall: Infinity } }))
    expect(await firstViolationOfReplaced()).toMatch(/hold .* at the same time|after its deadline/)
  })

  it('catches: no margin for the rates of clocks', async () => {
    await replaceHeld((held) => {
      const margin = 0.02 * spanOf(held)
      return { ...held, until: { mono: held.until.mono + margin, wall: held.until.wall + margin } }
    })
    expect(await firstViolationOfReplaced()).toMatch(/after its deadline/)
  })

  it('catches: a lost lease that a late answer revives', async () => {
    await replaceHold((hold) => (granted, held) => hold(granted, held ?? undefined))
    expect(await firstViolationOfReplaced()).toBeDefined()
  })

  it('catches: a wake-up that is forgotten when it comes before the sleep', async () => {
    await replaceWakeSignal((wakeSignal) => {
      const { sleep } = wakeSignal
      wakeSignal.sleep = function (ms, stop) {
        this.reset()
        return sleep.call(this, ms, stop)
      }
    })
    expect(await firstViolationOfReplaced()).toMatch(/a handoff took/)
  })

  it('catches: a push that is trusted without a timer behind it', async () => {
    await replaceWakeSignal((wakeSignal) => {
      const { sleep } = wakeSignal
      wakeSignal.sleep = function (ms, stop) {
        return sleep.call(this, ms > 500 ? 600_000 : ms, stop)
      }
    })
    expect(await firstViolationOfReplaced()).toMatch(/nobody got|took \d+/)
  })

  it('catches: a waiter that leaves its place behind when it gives up', async () => {
    vi.doMock('../../src/core/release.ts', async (original) => {
      const real = await original<typeof import('../../src/core/release.ts')>()
      let calls = 0
      const releaseInTime: typeof real.releaseInTime = async (...args) =>
        ++calls % 2 ? real.releaseInTime(...args) : 'released'
      return { ...real, releaseInTime }
    })
    expect(await firstViolationOfReplaced()).toBeDefined()
  })

  async function replaceHold(replace: (hold: State['hold']) => State['hold']): Promise<void> {
    vi.doMock('../../src/core/state.ts', async (original) => {
      const real = await original<State>()
      return { ...real, hold: replace(real.hold) }
    })
  }

  function replaceHeld(change: (held: Held) => Held): Promise<void> {
    return replaceHold((hold) => (granted, held) => {
      const next = hold(granted, held)
      return next && change(next)
    })
  }

  async function replaceWakeSignal(
    change: (wakeSignal: import('../../src/base/wake-signal.ts').WakeSignal) => void,
  ): Promise<void> {
    vi.doMock('../../src/base/wake-signal.ts', async (original) => {
      const real = await original<typeof import('../../src/base/wake-signal.ts')>()
      change(real.WakeSignal.prototype)
      return real
    })
  }

  async function firstViolationOfReplaced(): Promise<string | undefined> {
    vi.resetModules()
    const replaced = await import('./simulation.ts')
    return firstViolation((seed) => replaced.simulate(seed))
  }
})

async function firstViolation(
  run: (seed: number) => ReturnType<typeof simulate>,
  seeds = SEEDS_TO_CATCH,
): Promise<string | undefined> {
  for (let seed = 1; seed <= seeds; seed++) {
    const { violations } = await run(seed)
    if (violations.length > 0) return violations[0]
  }
  return undefined
}

function spanOf(held: Held): number {
  return (held.until.mono - held.dangerAt) * 3
}
