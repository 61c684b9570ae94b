/** One round: workers contend on a store while one fault after the other happens, and then a referee judges. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { guardTable } from '../../src/guard/index.ts'
import { type Random, seeded } from '../random.ts'
import type { Bed, OpenBed } from './beds/index.ts'
import { Crew } from './crew.ts'
import { findFakeTime } from './fake-time.ts'
import { type Fault, type FaultKind, Faults } from './faults.ts'
import { Namespace, whyNoNamespaces } from './namespace.ts'
import { judge } from './referee.ts'
import type { Counts } from './worker.ts'

export interface RoundOptions {
  readonly seed: number
  /** The round ends after the first fault that ends later than that. */
  readonly forMs: number
  /** The most steps of the round: each is one fault, or two at once. Default: no limit. */
  readonly steps?: number
  readonly workers?: number
  readonly signal?: AbortSignal | undefined
  readonly onStep?: (step: string) => void
}

export interface RoundReport {
  readonly ms: number
  readonly counts: Counts
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>
  readonly violations: readonly string[]
  readonly slowestRecovery: Recovery | null
}

/** From the end of a fault until each worker was granted a lease again. */
export interface Recovery {
  readonly ms: number
  readonly after: readonly FaultKind[]
}

const WORKERS = 4
const RESOURCES = [
  { name: 'north', longHolds: 0.05 },
  { name: 'south', longHolds: 0.8 },
  { name: 'pool', share: 2, longHolds: 0.3 },
]
/** Only what hangs needs longer, on a busy machine too. */
const RECOVERY_LIMIT_MS = 120_000
const CALM_MS = [100, 400] as const

export async function runRound(openBed: OpenBed, options: RoundOptions): Promise<RoundReport> {
  const { seed, workers = WORKERS, onStep = () => {} } = options
  const started = performance.now()
  onStep('starts')
  await using stack = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-torture-'))
  stack.defer(() => rm(directory, { recursive: true }))
  createGuarded(join(directory, 'guarded.db'))
  const namespaces: Namespace[] = []
  if ((await whyNoNamespaces()) === '')
    while (namespaces.length < workers) namespaces.push(stack.use(await Namespace.create()))
  const bed = stack.use(await openBed(namespaces.map(({ hostAddress }) => hostAddress)))
  const fakeTime = await findFakeTime()
  const crew = stack.use(
    await Crew.hire({
      workers,
      ttl: bed.ttl,
      resources: RESOURCES,
      directory,
      targets: bed.nodes.map(({ port }) => port),
      address: (links) => bed.address(links),
      namespaces,
      fakeTime: 'path' in fakeTime && !bed.usesClockOfWorkers ? fakeTime.path : undefined,
      seed,
    }),
  )
  const storm = new Storm(bed, crew, options)
  await storm.run()
  onStep('judges')
  await crew.finish()
  const { logPath, guardPath, counts, problems } = crew
  return {
    ms: performance.now() - started,
    counts,
    faults: storm.faults,
    violations: [
      ...storm.violations,
      ...problems,
      ...judge({ logPath, guardPath, jumps: bed.jump !== undefined }),
    ],
    slowestRecovery: storm.slowestRecovery,
  }
}

function createGuarded(path: string): void {
  const database = new DatabaseSync(path)
  // A crash of a worker cannot lose what it has written, and the machine does not crash.
  database.exec(`
    pragma journal_mode = wal;
    ${guardTable()};
    create table writes (n integer primary key autoincrement, resource text, token integer, writer text);
  `)
  database.close()
}

/** The faults of a round, one after the other. After each one it waits until every worker is granted a lease again. */
class Storm {
  readonly faults: Partial<Record<FaultKind, number>> = {}
  readonly violations: string[] = []
  slowestRecovery: Recovery | null = null
  readonly #bed: Bed
  readonly #crew: Crew
  readonly #options: RoundOptions
  readonly #random: Random

  constructor(bed: Bed, crew: Crew, options: RoundOptions) {
    this.#bed = bed
    this.#crew = crew
    this.#options = options
    this.#random = seeded(options.seed)
  }

  async run(): Promise<void> {
    const { forMs, steps = Infinity, signal } = this.#options
    const endsAt = performance.now() + forMs
    const faults = new Faults(this.#random, { bed: this.#bed, crew: this.#crew })
    if (!(await this.#recover(0, []))) return
    for (let n = 0; n < steps && performance.now() < endsAt && !signal?.aborted; n++) {
      const endedAt = await this.#happen(faults.next())
      if (signal?.aborted || !(await this.#recover(endedAt.at, endedAt.kinds))) return
    }
  }

  async #happen(faults: readonly Fault[]): Promise<{ at: number; kinds: FaultKind[] }> {
    const { signal, onStep = () => {} } = this.#options
    const { ttl } = this.#bed
    const lastsMs = this.#random.between(0.3 * ttl, 3 * ttl)
    const calmMs = this.#random.between(...CALM_MS)
    const kinds = faults.map(({ kind }) => kind)
    onStep(kinds.join(' and '))
    for (const fault of faults) {
      await fault.begin()
      this.faults[fault.kind] = (this.faults[fault.kind] ?? 0) + 1
    }
    await sleep(lastsMs, undefined, { signal }).catch(() => {})
    for (const fault of faults) await fault.end()
    const at = performance.now()
    await sleep(calmMs)
    return { at, kinds }
  }

  async #recover(since: number, after: readonly FaultKind[]): Promise<boolean> {
    const { onStep = () => {} } = this.#options
    onStep(after.length === 0 ? 'starts workers' : `recovers from ${after.join(' and ')}`)
    const isBack = await this.#crew.allGranted(since, RECOVERY_LIMIT_MS)
    const ms = performance.now() - since
    if (after.length > 0 && ms > (this.slowestRecovery?.ms ?? 0)) this.slowestRecovery = { ms, after }
    if (!isBack && this.#crew.problems.length === 0)
      this.violations.push(
        `a worker was granted nothing for ${RECOVERY_LIMIT_MS} ms after ${after.join(' and ') || 'its start'}`,
      )
    return isBack
  }
}
