import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    projects: [
      { test: { name: 'unit', include: ['src/**/*.test.ts', 'test/package/**/*.test.ts'] } },
      {
        test: {
          name: 'stores',
          include: ['test/{stores,services}/**/*.test.ts'],
          globalSetup: 'test/services/global-setup.ts',
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      { test: { name: 'browser', include: ['test/browser/**/*.test.ts'], testTimeout: 60_000 } },
      { test: { name: 'sim', include: ['test/sim/**/*.test.ts'], testTimeout: 300_000 } },
    ],
  },
})
