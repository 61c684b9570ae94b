import { globSync, readFileSync } from 'node:fs'
import { defineConfig } from 'vitest/config'
import { HANG_MS } from './test/hang-limit.ts'

/** Tests that start many processes of their own, each of which takes a core whenever it can. */
const WITH_PROCESSES = [
  ...testsIn('test/processes', 'test/cli'),
  'test/stores/*.torture.test.ts',
  'test/stores/*-processes.test.ts',
  'test/server/nodes.test.ts',
]

/** Tests that pack the package, install it and compile with it. */
const PACKING = ['exports', 'bin', 'snippets'].map((name) => `test/package/${name}.test.ts`)

/** Tests that replace modules. They get modules of their own; all other units share those of their worker. */
const UNITS = testsIn('src', 'web/src', 'test/promises', 'test/package')
const REPLACING_MODULES = globSync(UNITS).filter((file) =>
  /\bvi\.(mock|doMock|resetModules)\(/.test(readFileSync(file, 'utf8')),
)

/**
 * One project after the other (`groupOrder`), so that they do not starve each other. Most tests of stores wait for
 * servers and timers, so three files run at once. A browser keeps two cores busy by itself.
 */
export const projects = [
  {
    name: 'unit',
    include: UNITS,
    exclude: [...PACKING, ...REPLACING_MODULES],
    // To load the modules again for each file takes longer than to run its tests.
    isolate: false,
    setupFiles: 'test/restored-globals.ts',
    maxWorkers: '100%',
    sequence: { groupOrder: 1 },
  },
  {
    name: 'unit-isolated',
    include: REPLACING_MODULES,
    maxWorkers: '100%',
    sequence: { groupOrder: 1 },
  },
  {
    name: 'package',
    include: PACKING,
    maxWorkers: '100%',
    sequence: { groupOrder: 1 },
  },
  {
    name: 'sim',
    include: testsIn('test/sim'),
    maxWorkers: '100%',
    sequence: { groupOrder: 2 },
  },
  {
    name: 'stores',
    include: testsIn('test/stores', 'test/services', 'test/server', 'test/telemetry'),
    exclude: WITH_PROCESSES,
    maxWorkers: 3,
    sequence: { groupOrder: 3 },
  },
  {
    name: 'processes',
    include: WITH_PROCESSES,
    maxWorkers: 2,
    sequence: { groupOrder: 4 },
  },
  {
    // Its largest file starts processes, servers and a browser, one after the other.
    name: 'docs',
    include: testsIn('test/docs'),
    maxWorkers: 2,
    sequence: { groupOrder: 5 },
  },
  {
    name: 'browser',
    include: testsIn('test/browser'),
    maxWorkers: 1,
    sequence: { groupOrder: 6 },
  },
  {
    name: 'surface',
    include: testsIn('test/surface'),
    globalSetup: 'test/surface/install.ts',
    maxWorkers: 2,
    sequence: { groupOrder: 6 },
  },
]

function testsIn(...folders: string[]): string[] {
  return folders.map((folder) => `${folder}/**/*.test.ts`)
}

export default defineConfig({
  test: {
    // It starts the servers that the chosen test files name, once for all projects.
    globalSetup: 'test/services/global-setup.ts',
    projects: projects.map((project) => ({
      test: {
        ...project,
        // These limits find code that hangs. A busy machine may take ten times as long as an idle one.
        testTimeout: 5 * HANG_MS,
        hookTimeout: 5 * HANG_MS,
        expect: { poll: { timeout: HANG_MS } },
      },
    })),
  },
})
