/**
 * Runs the property tests with new random seeds, again and again: `npm run test:explore -- --minutes 10 src/core`.
 * Prints the seed of each run, and finishes the last one. A counterexample is added to `test/regressions.json`, which
 * every later `npm test` replays. `--seed` repeats a run.
 */
import { randomInt } from 'node:crypto'
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Exploration, REGRESSIONS_FILE, type Regression } from '../test/regressions.ts'
import { root, runTool } from './run-tool.ts'

const MINUTE_MS = 60_000
/** What a test file with properties calls, itself or through what it imports. */
const CHECKS_PROPERTIES = /\b(checkProperty|expectSameAsMemory|describeJobStore)\(/

const { values, positionals: filters } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string' },
    config: { type: 'string' },
  },
})
const minutes = Number(values.minutes)
if (!(minutes > 0)) throw new Error(`--minutes: expected a number above 0, got ${values.minutes}`)
const { HOLDFAST_REGRESSIONS: file = REGRESSIONS_FILE } = process.env
const until = Date.now() + minutes * MINUTE_MS
let hasFailed = false
do {
  const seed = Number(values.seed ?? randomInt(2 ** 31))
  console.log(`\nseed ${seed}`)
  const { code, found } = await explore(seed)
  for (const { property, path } of found) console.log(`found: ${property}\n  seed ${seed}, path ${path}`)
  if (found.length > 0) record(found)
  hasFailed ||= code !== 0
} while (Date.now() < until && values.seed === undefined)
process.exitCode = hasFailed ? 1 : 0

async function explore(seed: number): Promise<{ code: number; found: Regression[] }> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-found-'))
  const environment: Exploration = {
    HOLDFAST_EXPLORE_SEED: String(seed),
    HOLDFAST_EXPLORE_FOUND: directory,
  }
  Object.assign(process.env, environment)
  try {
    const files = values.config ? ['--config', values.config] : testFiles()
    const code = await runTool('vitest', 'run', '--reporter=dot', ...files)
    const found = readdirSync(directory).map((name) => readFileSync(join(directory, name), 'utf8'))
    return { code, found: found.map((text) => JSON.parse(text)) }
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** Those of the pages need `npm run build`, so they run only if a filter names them. */
function testFiles(): string[] {
  const files = globSync('{src,web/src,test}/**/*.test.ts', { cwd: root }).filter((file) =>
    CHECKS_PROPERTIES.test(readFileSync(join(root, file), 'utf8')),
  )
  const chosen = files.filter((file) =>
    filters.length > 0
      ? filters.some((filter) => file.includes(filter))
      : !file.startsWith(join('test', 'browser')),
  )
  if (chosen.length === 0) throw new Error(`no test file with properties matches ${filters.join(', ')}`)
  return chosen
}

/** A property that was found twice is kept once. */
function record(found: readonly Regression[]): void {
  const known: Regression[] = JSON.parse(readFileSync(file, 'utf8'))
  const isNew = ({ property, seed, path }: Regression) =>
    !known.some((one) => one.property === property && one.seed === seed && one.path === path)
  writeFileSync(file, `${JSON.stringify([...known, ...found.filter(isNew)], null, 2)}\n`)
}
