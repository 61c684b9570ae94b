/**
 * Runs every check that a change must pass. At the end it prints the failed tests again. The last line is the sum,
 * `N passed, N failed`. A step that failed as a whole counts as one failure.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { projects } from '../vitest.config.ts'
import { root, runTool } from './run-tool.ts'
import { failureLines, lastLine, type Summary, summarize } from './test-summary.ts'

const checks = {
  'lint and format': ['biome', 'check', '--error-on-warnings'],
  types: ['tsc', '--noEmit', '--singleThreaded'],
  build: ['node', 'scripts/build.ts'],
} as const

console.log(Object.keys(checks).join(', '))
const outcomes = Object.entries(checks).map(async ([title, [tool, ...args]]) =>
  (await runTool(tool, ...args)) === 0 ? [] : [`${title} failed`],
)
const failedChecks = (await Promise.all(outcomes)).flat()
const tests = await runTests()
const summary = { ...tests, problems: [...failedChecks, ...tests.problems] }

for (const line of failureLines(summary)) console.log(line)
console.log(lastLine(summary))
process.exitCode = summary.failed + summary.problems.length > 0 ? 1 : 0

async function runTests(): Promise<Summary> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-report-'))
  const file = join(directory, 'report.json')
  try {
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`]
    const code = await runTool('vitest', 'run', ...reporters)
    if (!existsSync(file))
      return { passed: 0, failed: 0, skipped: 0, failures: [], problems: ['the tests did not run'] }
    const found = summarize(JSON.parse(readFileSync(file, 'utf8')), projects, root)
    const explained = code === 0 || found.failed + found.problems.length > 0
    return explained ? found : { ...found, problems: ['an error outside of the tests'] }
  } finally {
    rmSync(directory, { recursive: true })
  }
}
