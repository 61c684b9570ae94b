/** How long the command line takes from its start to its end, beside a Node that does nothing. */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root, toolEnvironment } from '../scripts/run-tool.ts'
import { printTable, quantile, spreadOf } from './measure.ts'

const ROUNDS = 40
const BASELINE = 'node -e 0'

export async function run(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
  const main = build(directory)
  const store = `sqlite:${join(directory, 'holdfast.db')}`
  execFileSync(process.execPath, [main, 'run', '--store', store, 'job', '--', 'true'])
  const contenders: Readonly<Record<string, readonly string[]>> = {
    [BASELINE]: ['-e', '0'],
    'holdfast --version': [main, '--version'],
    'holdfast ls, on SQLite': [main, 'ls', '--store', store],
    'holdfast run job -- true, on SQLite': [main, 'run', '--store', store, 'job', '--', 'true'],
  }
  const times = new Map(Object.keys(contenders).map((name) => [name, [] as number[]]))
  // In turns, so that a noisy machine is noisy for all of them alike; the first round warms up.
  for (let round = -1; round < ROUNDS; round++)
    for (const [name, args] of Object.entries(contenders)) {
      const ms = timed(args)
      if (round >= 0) times.get(name)?.push(ms)
    }
  rmSync(directory, { recursive: true })
  const base = times.get(BASELINE) ?? []
  printTable(`Start of the command line, ${ROUNDS} times`, [
    ['', 'p50 ms', `× ${BASELINE}`, 'spread'],
    ...[...times].map(([name, all]) => {
      const ratios = all.map((ms, round) => ms / (base[round] ?? Number.NaN))
      return [name, quantile(all, 0.5).toFixed(1), quantile(ratios, 0.5).toFixed(2), spreadOf(ratios)]
    }),
  ])
}

/** As it is published, with its manifest beside it. */
function build(directory: string): string {
  const dist = join(directory, 'dist')
  execFileSync(process.execPath, ['scripts/build.ts', dist], {
    cwd: root,
    env: toolEnvironment(),
    stdio: 'ignore',
  })
  cpSync(join(root, 'package.json'), join(directory, 'package.json'))
  return join(dist, 'cli/main.js')
}

function timed(args: readonly string[]): number {
  const start = performance.now()
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`node ${args.join(' ')} exited with ${status}: ${stderr}`)
  return performance.now() - start
}
