/**
 * `npm run sim -- --seeds 100000` runs that many seeds of every world on all cores, `--forever` until it is stopped, and
 * `--seed 42` replays one with its trace, which is shortened if it fails. `--world documents` chooses one world. Exits 1
 * when a seed shows a violation, and says how to replay it.
 */
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { WORLDS, type WorldName } from './worlds.ts'

interface Share {
  readonly world: WorldName
  readonly from: number
  readonly to: number
  readonly step: number
}

interface Failure {
  readonly world: WorldName
  readonly seed: number
  readonly violations: readonly string[]
}

/** The oldest failures are shown. */
const MOST_SHOWN = 10
const DEFAULT_SEEDS = 2000
/** Of a run that never ends, each world has so many seeds in its turn. */
const SEEDS_OF_TURN = 500

/** Runs every seed of the share and reports each as it ends. */
async function runShare({ world, from, to, step }: Share, report: (failure: Failure) => void): Promise<void> {
  const { run } = await WORLDS[world]()
  for (let seed = from; seed < to; seed += step)
    report({ world, seed, violations: (await run(seed)).violations })
}

async function replay(worlds: readonly WorldName[], seed: number): Promise<void> {
  for (const world of worlds) {
    const { run, shortest } = await WORLDS[world]()
    const whole = await run(seed, { trace: true })
    const isFailed = whole.violations.length > 0
    const { trace, violations } = isFailed ? await shortest(seed) : whole
    console.log(trace.join('\n'))
    console.log(`\n${world}, seed ${seed}: ${violations.join('\n') || 'no violation'}`)
    if (isFailed) process.exitCode = 1
  }
}

async function runMany(worlds: readonly WorldName[], from: number, seeds: number): Promise<void> {
  const started = performance.now()
  let done = 0
  const failed: Failure[] = []
  const all = seeds === Infinity ? '' : ` of ${seeds * worlds.length}`
  const progress = () => {
    if (!process.stderr.isTTY && (done < seeds * worlds.length || seeds === Infinity)) return
    const seconds = (performance.now() - started) / 1000
    process.stderr.write(
      `\r${done}${all} seeds in ${seconds.toFixed(0)} s, ${(done / seconds).toFixed(0)} a second, ${failed.length} failed `,
    )
  }
  const ticking = setInterval(progress, 500)
  const turn = seeds === Infinity ? SEEDS_OF_TURN : seeds
  for (let next = from; next < from + seeds; next += turn)
    for (const world of worlds) await runOnAllCores({ world, from: next, to: next + turn })
  clearInterval(ticking)
  progress()
  process.stderr.write('\n')
  console.log(`${done - failed.length} passed, ${failed.length} failed`)
  process.exitCode = failed.length > 0 ? 1 : 0

  async function runOnAllCores(seeds: Omit<Share, 'step'>): Promise<void> {
    const cores = availableParallelism()
    await Promise.all(
      Array.from({ length: cores }, (_, core) => {
        const share: Share = { ...seeds, from: seeds.from + core, step: cores }
        const worker = new Worker(new URL(import.meta.url), { workerData: share })
        worker.on('message', onOutcome)
        return new Promise((resolve, reject) => worker.on('exit', resolve).on('error', reject))
      }),
    )
  }

  function onOutcome({ world, seed, violations }: Failure): void {
    done++
    if (violations.length === 0) return
    failed.push({ world, seed, violations })
    if (failed.length <= MOST_SHOWN)
      console.log(
        `\n${world}, seed ${seed}: ${violations[0]}\n  replay: npm run sim -- --world ${world} --seed ${seed}`,
      )
  }
}

if (!isMainThread) {
  await runShare(workerData as Share, (failure) => parentPort?.postMessage(failure))
} else {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string' },
      from: { type: 'string' },
      seed: { type: 'string' },
      world: { type: 'string' },
      forever: { type: 'boolean' },
    },
  })
  const refuse = (option: string, expected: string, value: string) => {
    console.error(`--${option}: expected ${expected}, got ${JSON.stringify(value)}`)
    process.exit(2)
  }
  const count = (option: string, value: string | undefined, fallback: number) => {
    const number = Number(value ?? fallback)
    return Number.isSafeInteger(number) && number >= 1
      ? number
      : refuse(option, 'a whole number from 1', value ?? '')
  }
  const names = Object.keys(WORLDS) as WorldName[]
  const { world } = values
  const worlds = names.filter((name) => world === undefined || name === world)
  if (worlds.length === 0) refuse('world', `one of ${names.join(', ')}`, world ?? '')
  if (values.seed !== undefined) await replay(worlds, count('seed', values.seed, 1))
  else
    await runMany(
      worlds,
      count('from', values.from, 1),
      values.forever ? Infinity : count('seeds', values.seeds, DEFAULT_SEEDS),
    )
}
