/**
 * `npm run fuzz -- --target http --seeds 100000` feeds one target, and without `--target` each. `--seed 42` replays one
 * input and prints it. Exits 1 when an input breaks a target, or takes longer than `HANG_MS`.
 */
import { parseArgs } from 'node:util'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { Broken, type Counts, fuzz } from './fuzz.ts'
import { inputOf } from './mutate.ts'
import { regressionsOf } from './regressions.ts'
import { TARGETS, type TargetName } from './targets/index.ts'

interface Share {
  readonly name: TargetName
  readonly from: number
  readonly seeds: number
  /** The seed of the current input, for a thread that hangs cannot say it. */
  readonly current: SharedArrayBuffer
}

type Message = { readonly counts: Counts } | { readonly broken: string; readonly seed: number | null }

const DEFAULT_SEEDS = 20_000
const HANG_MS = 20_000
const LONGEST_SHOWN = 2000

async function runShare({ name, from, seeds, current }: Share): Promise<Message> {
  const place = new BigInt64Array(current)
  const onSeed = (seed: number) => void Atomics.store(place, 0, BigInt(seed))
  try {
    return { counts: await fuzz(name, await TARGETS[name](), { from, seeds, onSeed }) }
  } catch (error) {
    if (!(error instanceof Broken)) throw error
    return { broken: `${error.message}\n${shown(error.input)}`, seed: error.seed }
  }
}

function shown(input: object): string {
  const text = JSON.stringify(input, null, 2)
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}… (${text.length} characters)` : text
}

/** In a thread of its own, because one that hangs can only be ended from outside. */
function runInThread(name: TargetName, from: number, seeds: number): Promise<Message> {
  const current = new SharedArrayBuffer(8)
  const place = new BigInt64Array(current)
  const share: Share = { name, from, seeds, current }
  const worker = new Worker(new URL(import.meta.url), { workerData: share })
  const { promise, resolve, reject } = Promise.withResolvers<Message>()
  let last = -1n
  const watching = setInterval(() => {
    const seed = Atomics.load(place, 0)
    if (seed === last) resolve({ broken: `${name}, seed ${seed}: it hangs`, seed: Number(seed) })
    last = seed
  }, HANG_MS)
  worker.on('message', resolve).on('error', reject)
  return promise.finally(() => {
    clearInterval(watching)
    return worker.terminate()
  })
}

async function runAll(names: readonly TargetName[], from: number, seeds: number): Promise<void> {
  const rows: Record<string, object> = {}
  for (const name of names) {
    const message = await runInThread(name, from, seeds)
    if ('counts' in message) {
      const { inputs, accepted, refused, seconds } = message.counts
      rows[name] = { inputs, accepted, refused, 'a second': Math.round(inputs / seconds) }
      continue
    }
    rows[name] = { broken: message.seed ?? 'a regression' }
    const replay =
      message.seed === null ? '' : `\n  replay: npm run fuzz -- --target ${name} --seed ${message.seed}`
    console.log(`\n${message.broken}${replay}\n`)
    process.exitCode = 1
  }
  console.table(rows)
}

async function replay(name: TargetName, seed: number): Promise<void> {
  const { corpus } = await TARGETS[name]()
  console.log(JSON.stringify(inputOf([...corpus, ...regressionsOf(name)], name, seed), null, 2))
  await runAll([name], seed, 1)
}

function count(option: string, value: string | undefined, fallback: number): number {
  const number = Number(value ?? fallback)
  return Number.isSafeInteger(number) && number >= 1 ? number : refuse(option, 'a whole number from 1', value)
}

function refuse(option: string, expected: string, value = ''): never {
  console.error(`--${option}: expected ${expected}, got ${JSON.stringify(value)}`)
  process.exit(2)
}

if (!isMainThread) {
  parentPort?.postMessage(await runShare(workerData as Share))
} else {
  const text = { type: 'string' } as const
  const { values } = parseArgs({ options: { seeds: text, from: text, seed: text, target: text } })
  const all = Object.keys(TARGETS) as TargetName[]
  const names = all.filter((name) => values.target === undefined || name === values.target)
  if (names.length === 0) refuse('target', `one of ${all.join(', ')}`, values.target)
  if (values.seed === undefined)
    await runAll(names, count('from', values.from, 1), count('seeds', values.seeds, DEFAULT_SEEDS))
  else for (const name of names) await replay(name, count('seed', values.seed, 1))
}
