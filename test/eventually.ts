import { vi } from 'vitest'
import { HANG_MS } from './hang-limit.ts'

/** Repeats the check until it passes, and resolves with what it returned. */
export function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(check, { timeout: HANG_MS, interval: 20 })
}
