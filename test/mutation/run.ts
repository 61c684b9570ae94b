/**
 * `npm run mutation -- core sync` changes the sources of these parts in one place at a time, and runs the tests that
 * reach it; without names, all parts. It prints the changes that no test notices, and the score. `--file <pattern>`
 * takes only some files of a part. Changes that make no difference are listed in `equivalent.json`, each with its reason.
 * The score of a whole part is kept for docs/verification.md.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, matchesGlob, relative } from 'node:path'
import { parseArgs } from 'node:util'
import type { Stryker } from '@stryker-mutator/core'
import { installFolder } from '../../scripts/install-folder.ts'
import { PARTS, type Part, type PartName, sourcesOf, testsOf } from './parts.ts'
import { type Change, changeOf, report } from './report.ts'
import { keepScore } from './scores.ts'

const ROOT = join(import.meta.dirname, '../..')

const { values: flags, positionals: names } = parseArgs({
  allowPositionals: true,
  options: { file: { type: 'string' } },
})
const unknown = names.filter((name) => !(name in PARTS))
if (unknown.length > 0) {
  console.error(`unknown part: ${unknown.join(', ')}; there are ${Object.keys(PARTS).join(', ')}`)
  process.exit(2)
}
process.chdir(ROOT)
installFolder(import.meta.dirname)
const { Stryker: StrykerClass } = await import('@stryker-mutator/core')
for (const name of names.length > 0 ? (names as PartName[]) : (Object.keys(PARTS) as PartName[])) {
  const part = PARTS[name]
  const began = performance.now()
  const changes = await mutate(StrykerClass, part)
  const isWhole = flags.file === undefined
  const { isGood, score } = report(name, part, changes, { isWhole })
  if (isWhole) keepScore(score)
  console.log(`${name}: ${Math.round((performance.now() - began) / 1000)} s`)
  if (!isGood) process.exitCode = 1
}

async function mutate(StrykerClass: typeof Stryker, part: Part): Promise<Change[]> {
  const { file: pattern = '**' } = flags
  const temporary = mkdtempSync(join(tmpdir(), 'holdfast-mutation-'))
  try {
    const results = await new StrykerClass({
      mutate: sourcesOf(part).filter((file) => matchesGlob(file, `**/${pattern}`)),
      // Without the configuration of TypeScript, whose version 7 Stryker cannot load.
      ignorePatterns: ['/*', '!/src', '!/test', '!/package.json', '/test/mutation'],
      plugins: [join(import.meta.dirname, 'runner.ts')],
      testRunner: 'in-process',
      inProcess: { testFiles: testsOf(part) },
      coverageAnalysis: 'perTest',
      disableTypeChecks: false,
      concurrency: Math.min(2, availableParallelism()),
      // What a mutant leaves running stays in the process.
      maxTestRunnerReuse: 200,
      timeoutMS: 20_000,
      dryRunTimeoutMinutes: 30,
      tempDirName: temporary,
      cleanTempDir: 'always',
      reporters: [process.stdout.isTTY ? 'progress' : 'progress-append-only'],
      warnings: false,
      allowConsoleColors: false,
      logLevel: 'warn',
    }).runMutationTest()
    return results.map((result) => changeOf(relative(ROOT, result.fileName), result))
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}
