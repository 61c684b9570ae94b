import { defineConfig } from 'vitest/config'

/** One after the other (`groupOrder`), so that the load of one does not disturb the timing of the next. */
export const projects = [
  {
    name: 'unit',
    include: ['src/**/*.test.ts', 'test/promises/**/*.test.ts', 'test/package/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    sequence: { groupOrder: 1 },
  },
  {
    name: 'sim',
    include: ['test/sim/**/*.test.ts'],
    testTimeout: 300_000,
    sequence: { groupOrder: 2 },
  },
  {
    name: 'stores',
    include: ['stores', 'services', 'processes', 'server', 'cli', 'telemetry'].map(
      (folder) => `test/${folder}/**/*.test.ts`,
    ),
    globalSetup: 'test/services/global-setup.ts',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    sequence: { groupOrder: 3 },
  },
  {
    name: 'browser',
    include: ['test/browser/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    sequence: { groupOrder: 4 },
  },
]

export default defineConfig({
  // Most of the time goes by in waiting for processes, disks and clocks: every core may have a worker.
  test: { projects: projects.map((test) => ({ test: { ...test, maxWorkers: '100%' } })) },
})
