import { afterAll, vi } from 'vitest'

/** Files that share a worker share its globals, so each begins with the real ones. */
afterAll(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
  vi.unstubAllEnvs()
})
