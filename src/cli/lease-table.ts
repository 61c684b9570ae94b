import type { LeaseRecord } from '../base/records.ts'
import type { LookingStore } from '../core/index.ts'
import { heldFor, metadataTexts, shareText, timeLeft } from './describe-lease.ts'
import { alignColumns, cut, GAP, printable, shareColumns, type Terminal, widest } from './terminal.ts'

export const NOTHING_HELD = 'Nothing is held. holdfast run <resource> -- <command> takes a lease.'

/** How many wait for each resource; `null`: the store keeps no queue. */
export type WaiterCounts = ReadonlyMap<string, number> | null

interface Column {
  readonly heading: string
  readonly text: (lease: LeaseRecord) => string
  /** Cut if the line is longer than the terminal is wide. */
  readonly isFlexible?: boolean
  /** Left out on a terminal that is narrower than this. */
  readonly from?: number
  /** Left out if no lease has a text. */
  readonly isOptional?: boolean
}

function columnsOf(holders: ReadonlyMap<string, number>, waiters: WaiterCounts): readonly Column[] {
  const share = (lease: LeaseRecord) => shareText(lease, holders.get(lease.resource) ?? 1)
  return [
    { heading: 'RESOURCE', text: ({ resource }) => printable(resource), isFlexible: true },
    { heading: 'HOLDER', text: ({ owner }) => printable(owner), isFlexible: true },
    { heading: 'SHARE', text: share, isOptional: true },
    {
      heading: 'WAITING',
      text: ({ resource }) => `${waiters?.get(resource) || ''}`,
      from: 60,
      isOptional: true,
    },
    { heading: 'TOKEN', text: ({ token }) => String(token), from: 70 },
    { heading: 'HELD FOR', text: heldFor, from: 50 },
    { heading: 'LEFT', text: timeLeft },
    { heading: 'NOTE', text: noteOf, isFlexible: true, from: 90 },
  ]
}

/** One line for each lease, under a heading. No line is longer than the terminal is wide. */
export function leaseTable(
  leases: readonly LeaseRecord[],
  terminal: Terminal,
  holders = countHolders(leases),
  waiters: WaiterCounts = null,
): string[] {
  const columns = columnsOf(holders, waiters).filter(
    ({ from = 0, isOptional, text }) => terminal.columns >= from && (!isOptional || leases.some(text)),
  )
  const cells = columns.map(({ heading, text }) => [heading, ...leases.map(text)])
  const widths = cells.map(widest)
  const flexible = columns.flatMap(({ isFlexible }, index) => (isFlexible ? [index] : []))
  const fixed = widths.reduce((sum, each, index) => sum + (columns[index]?.isFlexible ? 0 : each), 0)
  const shares = shareColumns(
    flexible.map((index) => widths[index] ?? 0),
    terminal.columns - fixed - GAP * (columns.length - 1),
  )
  for (const [order, index] of flexible.entries())
    cells[index] = cells[index]?.map((text) => cut(text, shares[order] ?? 0)) ?? []
  const rows = Array.from({ length: leases.length + 1 }, (_, row) => cells.map((column) => column[row] ?? ''))
  const [heading = '', ...lines] = alignColumns(rows)
  return [terminal.style('dim', heading), ...lines]
}

export async function countWaiters(
  store: LookingStore,
  leases: readonly LeaseRecord[],
): Promise<WaiterCounts> {
  const resources = [...new Set(leases.map(({ resource }) => resource))]
  if (!store.waiting) return null
  const queues = resources.length > 0 ? await store.waiting({ resources, limit: 0 }) : []
  return new Map(resources.map((resource, n) => [resource, queues[n]?.count ?? 0]))
}

/** How many leases of each resource there are. */
export function countHolders(leases: readonly LeaseRecord[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { resource } of leases) counts.set(resource, (counts.get(resource) ?? 0) + 1)
  return counts
}

function noteOf(lease: LeaseRecord): string {
  return metadataTexts(lease)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')
}
