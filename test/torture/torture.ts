/** A long run: rounds on all stores in turn, until the time is over. */
import { BEDS } from './beds/index.ts'
import { forgetGrant, REPLICATED } from './failover.ts'
import { addFault, addRound, emptyReport, type StoreReport } from './report.ts'
import { runRound } from './round.ts'

export const STORES: readonly string[] = [...Object.keys(BEDS), ...Object.keys(REPLICATED)]

export interface TortureOptions {
  readonly stores: readonly string[]
  /** Of the first round. Each round has the next number, so that it can be run again alone. */
  readonly seed: number
  readonly minutes: number
  readonly signal: AbortSignal
  readonly onStatus: (text: string) => void
  /** Gets a line about each round that has ended. */
  readonly onRound: (text: string) => void
}

const LONGEST_ROUND_MS = 60_000

export async function torture(options: TortureOptions): Promise<StoreReport[]> {
  const { stores, seed, minutes, signal, onStatus, onRound } = options
  const reports = stores.map(emptyReport)
  const endsAt = performance.now() + 60_000 * minutes
  const roundMs = Math.min(LONGEST_ROUND_MS, (60_000 * minutes) / stores.length)
  for (let n = 0; performance.now() < endsAt && !signal.aborted; n++) {
    const report = reports[n % reports.length] as StoreReport
    const { store } = report
    const before = report.violations.length
    const status = (step: string) => {
      const left = Math.max(0, (endsAt - performance.now()) / 60_000)
      const broken = reports.reduce((sum, { violations }) => sum + violations.length, 0)
      onStatus(`${store}, seed ${seed + n}: ${step}; ${broken} violations, ${left.toFixed(1)} min left`)
    }
    const round = {
      seed: seed + n,
      forMs: Math.min(roundMs, endsAt - performance.now()),
      signal,
      onStep: status,
    }
    await (BEDS[store] ? stormRound(report, round) : failoverRound(report, round)).catch((error) => {
      report.violations.push(`seed ${seed + n}: ${error.stack}`)
    })
    const found = report.violations.slice(before)
    onRound(`${store}, seed ${seed + n}: ${found.join('\n  ') || 'no violation'}`)
  }
  return reports
}

interface Round {
  readonly seed: number
  readonly forMs: number
  readonly signal: AbortSignal
  readonly onStep: (step: string) => void
}

async function stormRound(report: StoreReport, round: Round): Promise<void> {
  const openBed = BEDS[report.store] as (typeof BEDS)[string]
  addRound(report, round.seed, await runRound(openBed, round))
}

/** A server group can fail over once, so that it is started again for each failover. */
async function failoverRound(report: StoreReport, { seed, forMs, signal, onStep }: Round): Promise<void> {
  const started = performance.now()
  while (performance.now() - started < forMs && !signal.aborted) {
    onStep('failover')
    await using store = await (REPLICATED[report.store] as (typeof REPLICATED)[string])()
    const { isForgotten, isDoubled, violations, recoveryMs } = await forgetGrant(store)
    addFault(report, 'failover')
    if (isForgotten) report.forgottenGrants++
    if (isDoubled) report.doubledGrants++
    report.violations.push(...violations.map((violation) => `seed ${seed}: ${violation}`))
    if (recoveryMs > (report.slowestRecovery?.ms ?? 0))
      report.slowestRecovery = { ms: recoveryMs, after: 'failover', seed }
  }
  report.rounds++
  report.ms += performance.now() - started
}
