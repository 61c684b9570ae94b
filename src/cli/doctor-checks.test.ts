import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { LeaseStore } from '../core/index.ts'
import { memoryStore } from '../stores/memory.ts'
import { FakeClock } from '../testing/index.ts'
import { CHECKS } from './doctor-checks.ts'
import type { OpenedStore } from './stores/opened-store.ts'

describe('the doctor', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'performance'] }))
  afterEach(() => void vi.useRealTimers())

  /** The state that the check finds, if the answers of the store take this long. */
  async function stateOf(check: string, { offsetMs = 0, takesMs }: { offsetMs?: number; takesMs: number[] }) {
    const store = memoryStore({ clock: new FakeClock(Date.now() + offsetMs) })
    const slowly = async <T>(answer: Promise<T>) => {
      vi.advanceTimersByTime(takesMs.shift() ?? 0)
      return answer
    }
    const slow: LeaseStore = {
      ...store,
      acquire: (ask) => slowly(store.acquire(ask)),
      read: (resources) => slowly(store.read(resources)),
      release: (ask) => store.release(ask),
    }
    const checked = { opened: { store: slow } as OpenedStore, resource: 'r', shown: 'memory:' }
    const [finding] = (await CHECKS.find(({ name }) => name === check)?.run(checked)) ?? []
    return finding?.state
  }

  it('warns of the clock of the store only if a slow answer does not explain the difference', async () => {
    expect(await stateOf('clock', { takesMs: [0] })).toBe('ok')
    expect(await stateOf('clock', { takesMs: [8000] })).toBe('ok')
    for (const offsetMs of [-20_000, 20_000])
      expect(await stateOf('clock', { offsetMs, takesMs: [8000] })).toBe('warning')
  })

  it('warns of a slow store if most of its answers are slow', async () => {
    expect(await stateOf('speed', { takesMs: [8000, 8000] })).toBe('ok')
    expect(await stateOf('speed', { takesMs: [600, 600, 600, 600, 600, 600] })).toBe('warning')
  })
})
