/** The parts that are mutated, and the tests that run in one process and reach them. */
import { globSync, readFileSync } from 'node:fs'

export interface Part {
  /** Below `src`. `!`: not this. */
  readonly sources: readonly string[]
  readonly tests: readonly string[]
  /** The percentage of mutants that tests must notice. */
  readonly goal: number
}

const MANAGER_TESTS = ['test/promises/*.test.ts', 'src/core/*.test.ts', 'src/stores/*.test.ts']

export const PARTS = {
  core: { sources: ['core/*.ts'], tests: MANAGER_TESTS, goal: 90 },
  'lease-row': {
    sources: ['stores/{lease-row,row-leases,row-queue,stored-lease,lease-page,memory}.ts'],
    tests: [...MANAGER_TESTS, 'src/stores/registers/{shared,store}.test.ts'],
    goal: 90,
  },
  registers: {
    sources: ['stores/registers/*.ts'],
    tests: ['src/stores/*.test.ts', 'src/stores/registers/*.test.ts', 'src/store-kit/*.test.ts'],
    goal: 80,
  },
  local: {
    sources: ['stores/local/*.ts'],
    tests: ['src/stores/{local,registers,sqlite,web}/*.test.ts'],
    goal: 80,
  },
  once: {
    sources: [
      'once/*.ts',
      // Their tests need the real database.
      '!once/{etcd,firestore,mysql,postgres,redis}-*.ts',
    ],
    tests: ['src/once/*.test.ts', 'src/idempotency/*.test.ts', 'test/stores/once-sqlite.test.ts'],
    goal: 80,
  },
  client: {
    sources: ['client/*.ts', 'client/draft/*.ts'],
    tests: ['src/client/**/*.test.ts', 'src/react/**/*.test.ts'],
    goal: 80,
  },
  sync: { sources: ['sync/*.ts'], tests: ['src/sync/*.test.ts'], goal: 80 },
  server: {
    sources: ['server/{locks,handoff,lease-feed}.ts'],
    tests: ['src/server/**/*.test.ts', 'src/client/*.test.ts'],
    goal: 80,
  },
} as const satisfies Record<string, Part>

export type PartName = keyof typeof PARTS

export function sourcesOf({ sources }: Part): string[] {
  const patterns = sources.filter((pattern) => !pattern.startsWith('!'))
  const except = sources.filter((pattern) => pattern.startsWith('!')).map((pattern) => pattern.slice(1))
  const found = globSync(patterns, { cwd: 'src', exclude: [...except, '**/*.test.ts'] })
  return found.map((file) => `src/${file}`).sort()
}

/** Without those that replace modules, which only Vitest can do. */
export function testsOf({ tests }: Part): string[] {
  return globSync(tests as string[])
    .filter((file) => !/\bvi\.(mock|doMock|resetModules)\(/.test(readFileSync(file, 'utf8')))
    .sort()
}
