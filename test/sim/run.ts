/**
 * `npm run sim -- --seeds 100000` runs that many seeds on all cores; `--seed 42` replays one with its trace.
 * Exits 1 when a seed shows a violation, and says how to replay it.
 */
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { type Outcome, simulate } from './simulation.ts'

interface Share {
  readonly from: number
  readonly to: number
  readonly step: number
}

/** Runs every seed of the share and reports each as it ends. */
async function runShare({ from, to, step }: Share, report: (outcome: Outcome) => void): Promise<void> {
  for (let seed = from; seed < to; seed += step) report(await simulate(seed))
}

async function replay(seed: number): Promise<void> {
  const { trace, violations } = await simulate(seed, { trace: true })
  console.log(trace.join('\n'))
  console.log(
    violations.length > 0 ? `\nseed ${seed}: ${violations.join('\n')}` : `\nseed ${seed}: no violation`,
  )
  process.exitCode = violations.length > 0 ? 1 : 0
}

async function runMany(from: number, seeds: number): Promise<void> {
  const cores = availableParallelism()
  const started = performance.now()
  let done = 0
  const failed: Outcome[] = []
  const progress = () => {
    if (!process.stderr.isTTY && done < seeds) return
    const perSecond = (done * 1000) / (performance.now() - started)
    process.stderr.write(
      `\r${done} of ${seeds} seeds, ${perSecond.toFixed(0)} a second, ${failed.length} failed `,
    )
  }
  const ticking = setInterval(progress, 500)
  await Promise.all(
    Array.from({ length: cores }, (_, core) => {
      const share: Share = { from: from + core, to: from + seeds, step: cores }
      const worker = new Worker(new URL(import.meta.url), { workerData: share })
      worker.on('message', (outcome: Outcome) => {
        done++
        if (outcome.violations.length > 0) failed.push(outcome)
      })
      return new Promise((resolve, reject) => worker.on('exit', resolve).on('error', reject))
    }),
  )
  clearInterval(ticking)
  progress()
  process.stderr.write('\n')
  for (const { seed, violations } of failed.slice(0, 10))
    console.log(`seed ${seed}: ${violations[0]}\n  replay: npm run sim -- --seed ${seed}`)
  console.log(`${seeds - failed.length} passed, ${failed.length} failed`)
  process.exitCode = failed.length > 0 ? 1 : 0
}

if (!isMainThread) {
  await runShare(workerData as Share, (outcome) => parentPort?.postMessage(outcome))
} else {
  const { values } = parseArgs({
    options: { seeds: { type: 'string' }, from: { type: 'string' }, seed: { type: 'string' } },
  })
  const count = (option: string, value: string | undefined, fallback: number) => {
    const number = Number(value ?? fallback)
    if (!Number.isSafeInteger(number) || number < 1) {
      console.error(`--${option}: expected a whole number from 1, got ${JSON.stringify(value)}`)
      process.exit(2)
    }
    return number
  }
  if (values.seed !== undefined) await replay(count('seed', values.seed, 1))
  else await runMany(count('from', values.from, 1), count('seeds', values.seeds, 2000))
}
