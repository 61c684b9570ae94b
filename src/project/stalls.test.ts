import { describe, expect, it } from 'vitest'
import { projectBed } from '../../test/web/project-bed.ts'
import { type Stall, stallingDirectory } from '../../test/web/stalling-directory.ts'

/** What the tab that stalls does. Its calls are counted from the last step on. */
const STEPS = ['acquire', 'renew', 'release'] as const

interface Case {
  readonly step: (typeof STEPS)[number]
  readonly exclusive: boolean
  readonly stall: Stall
  readonly stallMs: number
}

/**
 * One tab stalls at one call, and two others ask for the lock until it goes on. Returns the most holders at any time,
 * and whether the call was reached.
 */
async function holdersDuring({ step, exclusive, stall, stallMs }: Case) {
  const { clock, files, finished, openTab } = projectBed({ exclusive })
  const own = stallingDirectory(files.root)
  const slow = openTab({ locks: null, directory: own.directory })
  const others = [openTab({ locks: null }), openTab({ locks: null })]
  let held = await (step === 'acquire' ? undefined : finished(slow.locks.acquireProjectLock()))
  const leases = new Map<(typeof others)[number], NonNullable<typeof held>>()
  own.stallAt(stall)
  const going =
    step === 'acquire'
      ? slow.locks.acquireProjectLock({ retry: { maxAttempts: 1 } }).then((lease) => (held = lease))
      : step === 'renew'
        ? held && slow.locks.renewProjectLock(held)
        : held && slow.locks.releaseProjectLock(held)
  const ended = Promise.resolve(going).catch(() => {})
  await clock.advance(20)
  for (const tab of others)
    void tab.locks.acquireProjectLock({ standby: true }).then(
      (lease) => leases.set(tab, lease),
      () => {},
    )
  let most = 0
  const watch = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 250) {
      await clock.advance(250)
      const holding = others.filter((tab) => {
        const lease = leases.get(tab)
        return lease && tab.locks.holdsProjectLock(lease)
      })
      const isSlowHolding = held !== undefined && slow.locks.holdsProjectLock(held)
      most = Math.max(most, holding.length + Number(isSlowHolding))
    }
  }
  await watch(stallMs)
  const wasReached = own.calls.length >= stall.call
  own.resume()
  await watch(12_000)
  if (held) await finished(slow.locks.releaseProjectLock(held))
  await watch(15_000)
  const isHeldAtTheEnd = others.some((tab) => {
    const lease = leases.get(tab)
    return lease && tab.locks.holdsProjectLock(lease)
  })
  await Promise.all([...others, slow].map((tab) => finished(tab.locks.close())))
  await ended
  return { most, wasReached, isHeldAtTheEnd, files: Object.keys(files.tree) }
}

describe('a page that stalls', () => {
  // Without exclusive writers, a page can only protect itself from its own delays, not from those of the browser.
  const CASES = [
    { exclusive: true, when: 'before' },
    { exclusive: true, when: 'after' },
    { exclusive: false, when: 'after' },
  ] as const
  const LENGTHS_MS = [1600, 35_000]
  const cases = STEPS.flatMap((step) =>
    CASES.flatMap((one) => LENGTHS_MS.map((stallMs) => ({ step, stallMs, ...one }))),
  )

  it.each(cases)(
    'for $stallMs ms, $when any call of $step, never leads to two holders (exclusive writers: $exclusive)',
    async ({ step, stallMs, exclusive, when }) => {
      let call = 1
      for (; ; call++) {
        const stall = { call, when }
        const { most, wasReached, isHeldAtTheEnd, files } = await holdersDuring({
          ...{ step, stallMs, exclusive, stall },
        })
        if (!wasReached) break
        expect({ call, most, isHeldAtTheEnd, files }).toEqual({
          call,
          most: 1,
          isHeldAtTheEnd: true,
          files: [],
        })
      }
      expect(call).toBeGreaterThan(5)
    },
  )
})
