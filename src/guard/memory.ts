import { expectFence, expectFresh, type Fence, type Seen } from './fence.ts'

export interface MemoryGuard {
  /** Throws `stale-token` if the guard has seen a newer lease. Write in the same tick, without an `await` between. */
  check(lease: Fence): void
}

/**
 * Guards what one process keeps in memory.
 *
 * @example
 * const guard = memoryGuard()
 * guard.check(lease)
 * documents.set('42', body)
 */
export function memoryGuard(): MemoryGuard {
  const seen = new Map<string, Seen>()
  return {
    check(lease) {
      expectFence(lease)
      const { resource, token, id } = lease
      expectFresh(lease, seen.get(resource) ?? null)
      seen.set(resource, { token, id })
    },
  }
}
