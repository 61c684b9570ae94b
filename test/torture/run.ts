/**
 * `npm run torture -- --minutes 60` tortures every store on real servers for that long, in turns. `--stores redis,etcd`
 * chooses some, `--seed 42` the order of the faults, and `--json` prints the report as JSON. Ctrl-C ends it with a report
 * of what was done until then. Exits 1 when a rule was broken, and says how to see it again.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '../../scripts/run-tool.ts'
import { findFakeTime } from './fake-time.ts'
import { whyNoNamespaces } from './namespace.ts'
import { textOf } from './report.ts'
import { whyNoSmallDisk } from './small-disk.ts'
import { StatusLine } from './status-line.ts'
import { STORES, torture } from './torture.ts'

const DEFAULT_MINUTES = 10

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    stores: { type: 'string' },
    seed: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
})
const minutes = number('minutes', values.minutes, DEFAULT_MINUTES)
const seed = number('seed', values.seed, Date.now() % 1_000_000)
const stores = values.stores?.split(',') ?? STORES
for (const store of stores)
  if (!STORES.includes(store)) refuse('stores', `some of ${STORES.join(',')}`, store)

// Hundreds of processes compile the same sources.
process.env['NODE_COMPILE_CACHE'] ??= join(root, 'node_modules/.cache/node-compile')

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort())

const fakeTime = await findFakeTime()
const missing = [
  await whyNoNamespaces(),
  await whyNoSmallDisk(),
  'why' in fakeTime ? fakeTime.why : '',
].filter((why) => why !== '')
for (const why of missing) console.error(`left out: ${why}`)
console.error(`seed ${seed}, ${minutes} minutes: ${stores.join(', ')}`)

const line = new StatusLine(process.stderr)
const reports = await torture({
  stores,
  seed,
  minutes,
  signal: stop.signal,
  onStatus: (status) => line.show(status),
  onRound: (round) => line.print(round),
})
line.clear()
console.log(
  values.json
    ? JSON.stringify({ seed, minutes, leftOut: missing, stores: reports }, null, 2)
    : textOf(reports),
)
process.exit(reports.some(({ violations }) => violations.length > 0) ? 1 : 0)

function number(option: string, value: string | undefined, fallback: number): number {
  const parsed = Number(value ?? fallback)
  return Number.isFinite(parsed) && parsed > 0 ? parsed : refuse(option, 'a number above 0', value ?? '')
}

function refuse(option: string, expected: string, value: string): never {
  console.error(`--${option}: expected ${expected}, got ${JSON.stringify(value)}`)
  process.exit(2)
}
