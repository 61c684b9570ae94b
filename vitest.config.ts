import { globSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { HANG_MS } from './test/hang-limit.ts'
import { LongestFirst } from './test/longest-first.ts'

/** Tests that start many processes of their own. */
const WITH_PROCESSES = [
  ...testsIn('test/processes', 'test/cli', 'test/torture'),
  'test/stores/*.torture.test.ts',
  'test/stores/*-processes.test.ts',
  'test/server/nodes.test.ts',
]

/** Tests that pack the package, install it and compile with it. */
const PACKING = ['exports', 'bin', 'oldest-node'].map((name) => `test/package/${name}.test.ts`)

/** Tests that replace modules. They get modules of their own; all other units share those of their worker. */
const UNITS = testsIn('src', 'web/src', 'test/promises', 'test/package', 'test/locks')
const REPLACING_MODULES = globSync(UNITS).filter((file) =>
  /\bvi\.(mock|doMock|resetModules)\(/.test(readFileSync(file, 'utf8')),
)

/** Files that compute keep a core busy each. */
const COMPUTING = { maxWorkers: '100%', sequence: { groupOrder: 1 } }

/** Files that wait for servers, timers, processes and browsers leave the cores idle, so more of them run at once. */
const WAITING = {
  maxWorkers: Math.min(12, Math.ceil(2.5 * availableParallelism())),
  sequence: { groupOrder: 2 },
}

/** First the group that computes, which finds most mistakes in a minute, then the group that waits. */
export const projects = [
  {
    name: 'unit',
    include: UNITS,
    exclude: [...PACKING, ...REPLACING_MODULES],
    // To load the modules again for each file takes longer than to run its tests.
    isolate: false,
    setupFiles: 'test/restored-globals.ts',
    ...COMPUTING,
  },
  { name: 'unit-isolated', include: REPLACING_MODULES, ...COMPUTING },
  { name: 'sim', include: testsIn('test/sim', 'test/model', 'test/zoo', 'test/fuzz'), ...COMPUTING },
  { name: 'package', include: PACKING, ...WAITING },
  {
    name: 'stores',
    include: testsIn('test/stores', 'test/scenarios', 'test/services', 'test/server', 'test/telemetry'),
    exclude: WITH_PROCESSES,
    ...WAITING,
  },
  { name: 'processes', include: WITH_PROCESSES, ...WAITING },
  { name: 'docs', include: testsIn('test/docs'), ...WAITING },
  { name: 'browser', include: testsIn('test/browser'), ...WAITING },
  { name: 'surface', include: testsIn('test/surface'), globalSetup: 'test/surface/install.ts', ...WAITING },
]

function testsIn(...folders: string[]): string[] {
  return folders.map((folder) => `${folder}/**/*.test.ts`)
}

/**
 * Google's client, if it is terminated between two tries of a read, rejects a promise that it gives to nobody
 * (`requestStream`), so no test can handle it.
 */
function isOfTerminatedFirestore({ message, stack = '' }: { message: string; stack?: string }): boolean {
  return message === 'The client has already been terminated' && /ClientPool\.run.*\n.*\n.*_retry/.test(stack)
}

export default defineConfig({
  test: {
    // It starts the servers that the chosen test files name, once for all projects.
    globalSetup: 'test/services/global-setup.ts',
    sequence: { sequencer: LongestFirst },
    onUnhandledError: (error) => !isOfTerminatedFirestore(error),
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
