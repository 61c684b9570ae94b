import { defineConfig } from 'vitest/config'

/** One after the other (`groupOrder`), so that the load of one does not disturb the timing of the next. */
export const projects = [
  {
    name: 'unit',
    include: testsIn('src', 'web/src', 'test/promises', 'test/package'),
    testTimeout: 60_000,
    hookTimeout: 60_000,
    sequence: { groupOrder: 1 },
  },
  {
    name: 'sim',
    include: testsIn('test/sim'),
    testTimeout: 300_000,
    sequence: { groupOrder: 2 },
  },
  {
    name: 'stores',
    include: testsIn(
      'test/stores',
      'test/services',
      'test/processes',
      'test/server',
      'test/cli',
      'test/telemetry',
    ),
    globalSetup: 'test/services/global-setup.ts',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    sequence: { groupOrder: 3 },
  },
  {
    name: 'browser',
    include: testsIn('test/browser'),
    testTimeout: 60_000,
    hookTimeout: 60_000,
    sequence: { groupOrder: 4 },
  },
]

function testsIn(...folders: string[]): string[] {
  return folders.map((folder) => `${folder}/**/*.test.ts`)
}

export default defineConfig({
  test: {
    projects: projects.map((project) => ({
      test: {
        ...project,
        // Most of the time goes by in waiting for processes, disks and clocks: every core may have a worker.
        maxWorkers: '100%',
        // What must be fast is measured; what must happen may take its time on a busy machine.
        expect: { poll: { timeout: 15_000 } },
      },
    })),
  },
})
