import type { LeaseRecord } from '../base/records.ts'
import type { LookingStore } from '../core/index.ts'
import { type Column, fitColumns } from './columns.ts'
import { heldFor, metadataTexts, shareText, timeLeft } from './describe-lease.ts'
import { printable, type Terminal } from './terminal.ts'

export const NOTHING_HELD = 'Nothing is held. holdfast run <resource> -- <command> takes a lease.'

/** How many wait for each resource; `null`: the store keeps no queue. */
export type WaiterCounts = ReadonlyMap<string, number> | null

/** Those that are most useful come first, and are the last to go on a narrow terminal. */
function columnsOf(
  holders: ReadonlyMap<string, number>,
  waiters: WaiterCounts,
): readonly Column<LeaseRecord>[] {
  const share = (lease: LeaseRecord) => shareText(lease, holders.get(lease.resource) ?? 1)
  const waiting = ({ resource }: LeaseRecord) => `${waiters?.get(resource) || ''}`
  return [
    { heading: 'RESOURCE', text: ({ resource }) => printable(resource), isFlexible: true },
    { heading: 'HOLDER', text: ({ owner }) => printable(owner), isFlexible: true },
    { heading: 'STATE', text: ({ state }) => (state === 'held' ? '' : state), isOptional: true },
    { heading: 'SHARE', text: share, isOptional: true, rank: 2 },
    { heading: 'WAITING', text: waiting, isOptional: true },
    { heading: 'TOKEN', text: ({ token }) => String(token), rank: 3 },
    { heading: 'HELD FOR', text: heldFor, rank: 1 },
    { heading: 'LEFT', text: timeLeft },
    { heading: 'NOTE', text: noteOf, isFlexible: true, isOptional: true, rank: 4 },
  ]
}

/** One line for each lease, under a heading. No line is longer than the terminal is wide. */
export function leaseTable(
  leases: readonly LeaseRecord[],
  terminal: Terminal,
  holders = countHolders(leases),
  waiters: WaiterCounts = null,
): string[] {
  const [heading = '', ...lines] = fitColumns(columnsOf(holders, waiters), leases, terminal.columns)
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

/** The metadata in one line. */
export function noteOf(lease: LeaseRecord): string {
  return metadataTexts(lease)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')
}
