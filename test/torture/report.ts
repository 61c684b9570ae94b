/** What a run has done and found, for each store: as text, and as JSON. */
import type { FaultKind } from './faults.ts'
import type { Recovery, RoundReport } from './round.ts'
import type { Counts } from './worker.ts'

export interface StoreReport {
  readonly store: string
  rounds: number
  ms: number
  counts: Counts
  faults: Partial<Record<FaultKind | 'failover', number>>
  /** Each with the seed of its round. */
  violations: string[]
  slowestRecovery: (Omit<Recovery, 'after'> & { readonly after: string; readonly seed: number }) | null
  /** Confirmed grants that a failover has forgotten, as the docs describe it. */
  forgottenGrants: number
  /** Those whose holder had not noticed yet, so that two believed to hold the lease. */
  doubledGrants: number
}

export function emptyReport(store: string): StoreReport {
  return {
    store,
    rounds: 0,
    ms: 0,
    counts: { calls: 0, failedCalls: 0, grants: 0, losses: 0, writes: 0, refusedWrites: 0 },
    faults: {},
    violations: [],
    slowestRecovery: null,
    forgottenGrants: 0,
    doubledGrants: 0,
  }
}

export function addRound(report: StoreReport, seed: number, round: RoundReport): void {
  report.rounds++
  report.ms += round.ms
  for (const key of Object.keys(report.counts) as (keyof Counts)[]) report.counts[key] += round.counts[key]
  for (const [kind, times] of Object.entries(round.faults)) addFault(report, kind as FaultKind, times)
  report.violations.push(...round.violations.map((violation) => `seed ${seed}: ${violation}`))
  const { slowestRecovery: slowest } = round
  if (slowest && slowest.ms > (report.slowestRecovery?.ms ?? 0))
    report.slowestRecovery = { ms: slowest.ms, after: slowest.after.join(' and '), seed }
}

export function addFault(report: StoreReport, kind: FaultKind | 'failover', times = 1): void {
  report.faults[kind] = (report.faults[kind] ?? 0) + times
}

/** A table with a line for each store, the faults by kind, and every violation. */
export function textOf(reports: readonly StoreReport[]): string {
  const rows = reports.map((report) => {
    const { store, ms, counts, violations, slowestRecovery } = report
    const slowest = slowestRecovery
      ? `${seconds(slowestRecovery.ms)}, after: ${slowestRecovery.after}`
      : 'none'
    return [
      store,
      seconds(ms),
      counts.calls,
      counts.grants,
      counts.losses,
      counts.refusedWrites,
      Object.values(report.faults).reduce((sum, times) => sum + times, 0),
      violations.length,
      slowest,
    ]
  })
  const head = [
    'store',
    'time',
    'calls',
    'grants',
    'lost',
    'late writes refused',
    'faults',
    'violations',
    'slowest recovery',
  ]
  return [
    markdownTable(head, rows),
    '',
    faultTable(reports),
    ...reports
      .filter(({ forgottenGrants }) => forgottenGrants > 0)
      .map(
        ({ store, forgottenGrants, doubledGrants }) =>
          `\n${store}: a failover forgot ${forgottenGrants} confirmed grants, as the store's page says. ` +
          `In ${doubledGrants} cases two believed to hold the lease. The guard refused each late write.`,
      ),
    ...reports.flatMap(({ store, violations }) => violations.map((violation) => `\n${store}, ${violation}`)),
  ].join('\n')
}

function faultTable(reports: readonly StoreReport[]): string {
  const kinds = [...new Set(reports.flatMap(({ faults }) => Object.keys(faults)))] as FaultKind[]
  return markdownTable(
    ['fault', ...reports.map(({ store }) => store)],
    kinds.map((kind) => [kind, ...reports.map(({ faults }) => faults[kind] ?? '')]),
  )
}

function markdownTable(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`
}
