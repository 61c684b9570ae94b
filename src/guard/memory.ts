import { expectFunction } from '../base/arguments.ts'
import { expectFence, expectFresh, expectSynchronous, type Fence, type Seen } from './fence.ts'

export interface MemoryGuard {
  /**
   * Throws `stale-token` if the guard has seen a newer lease. Write in the same tick, without an `await` between.
   *
   * @throws `stale-token`
   */
  check(lease: Fence): void
  /**
   * Checks the lease and runs the work in the same tick. Throws if the work is async: nothing protects what it does
   * later.
   *
   * @throws `stale-token`
   */
  write<T>(lease: Fence, work: () => T): T
}

/**
 * Guards what one process keeps in memory.
 *
 * @example
 * const guard = memoryGuard()
 * guard.write(lease, () => documents.set('42', body))
 */
export function memoryGuard(): MemoryGuard {
  const seen = new Map<string, Seen>()
  function check(lease: Fence): void {
    expectFence(lease)
    const { resource, token, id } = lease
    expectFresh(lease, seen.get(resource) ?? null)
    seen.set(resource, { token, id })
  }
  return {
    check,
    write(lease, work) {
      expectFunction('work', work)
      check(lease)
      return expectSynchronous(work())
    },
  }
}
