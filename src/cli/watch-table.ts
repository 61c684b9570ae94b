/** The table of `holdfast watch`: a line for each resource, and for each of its holders where it is unfolded. */
import type { LeaseRecord } from '../base/records.ts'
import { type Column, fitColumns } from './columns.ts'
import { heldFor, shareText, timeLeft } from './describe-lease.ts'
import { noteOf } from './lease-table.ts'
import { printable } from './terminal.ts'

/** A line: all leases of a resource, or one of several. */
export interface WatchLine {
  readonly resource: string
  /** From the oldest on. There is at least one. */
  readonly leases: readonly [LeaseRecord, ...LeaseRecord[]]
  /** How many leases of the resource there are. */
  readonly holders: number
  readonly isOneOfSeveral: boolean
}

const SORTS = {
  resource: (a: WatchLine, b: WatchLine) => compare(a.resource, b.resource),
  holder: (a: WatchLine, b: WatchLine) => compare(a.leases[0].owner, b.leases[0].owner),
  'held for': (a: WatchLine, b: WatchLine) => a.leases[0].acquiredAt - b.leases[0].acquiredAt,
  left: (a: WatchLine, b: WatchLine) => leastLeft(a) - leastLeft(b),
}
export type Sort = keyof typeof SORTS
export const SORT_NAMES = Object.keys(SORTS) as Sort[]

/** The lines of these leases, in the chosen order. `unfolded`: resources whose holders have a line each. */
export function linesOf(
  leases: readonly LeaseRecord[],
  sort: Sort,
  unfolded: ReadonlySet<string>,
): readonly WatchLine[] {
  const byResource = Map.groupBy(leases, ({ resource }) => resource)
  const lines = [...byResource].flatMap(([resource, found]): WatchLine[] => {
    const [oldest, ...others] = found.toSorted((a, b) => a.token - b.token)
    if (!oldest) return []
    return [{ resource, leases: [oldest, ...others], holders: found.length, isOneOfSeveral: false }]
  })
  lines.sort(SORTS[sort])
  return lines.flatMap((line) =>
    unfolded.has(line.resource) && line.holders > 1
      ? [line, ...line.leases.map((lease): WatchLine => ({ ...line, leases: [lease], isOneOfSeveral: true }))]
      : [line],
  )
}

export interface TableOptions {
  readonly waiters: ReadonlyMap<string, number>
  /** The store does not answer: nobody knows how long the leases last. */
  readonly isStale: boolean
  readonly columns: number
}

/** The heading, and a text for each line. */
export function watchTable(
  lines: readonly WatchLine[],
  { waiters, isStale, columns }: TableOptions,
): [heading: string, ...lines: string[]] {
  const first = (text: (lease: LeaseRecord) => string) => (line: WatchLine) => text(line.leases[0])
  const fresh = (text: (line: WatchLine) => string) => (line: WatchLine) => (isStale ? '?' : text(line))
  const all: readonly Column<WatchLine>[] = [
    { heading: 'RESOURCE', text: resourceText, isFlexible: true },
    { heading: 'HOLDER', text: holderText, isFlexible: true },
    {
      heading: 'WAITING',
      text: (line) => (line.isOneOfSeveral ? '' : `${waiters.get(line.resource) || ''}`),
    },
    { heading: 'LEFT', text: fresh((line) => timeLeft(nextToEnd(line))) },
    { heading: 'HELD FOR', text: fresh(first(heldFor)), rank: 1 },
    { heading: 'SHARE', text: shareOf, isOptional: true, rank: 2 },
    { heading: 'TOKEN', text: first(({ token }) => String(token)), rank: 4, isExtra: true },
    { heading: 'NOTE', text: first(noteOf), isFlexible: true, isOptional: true, rank: 3 },
  ]
  return fitColumns(all, lines, columns) as [string, ...string[]]
}

function resourceText({ resource, isOneOfSeveral }: WatchLine): string {
  return isOneOfSeveral ? '' : printable(resource)
}

/** The number of several holders comes first, so that a narrow column does not cut it. */
function holderText({ leases, holders, isOneOfSeveral }: WatchLine): string {
  const names = leases.map(({ owner }) => printable(owner)).join(', ')
  if (isOneOfSeveral) return `  ${names}`
  if (leases[0].state === 'kept') return `kept, last ${names}`
  return holders > 1 ? `${holders} holders: ${names}` : names
}

function shareOf({ leases: [oldest], holders, isOneOfSeveral }: WatchLine): string {
  return isOneOfSeveral ? '' : shareText(oldest, holders)
}

/** The lease that ends first unless it is renewed. */
function nextToEnd({ leases }: WatchLine): LeaseRecord {
  return leases.reduce((least, lease) =>
    (lease.remaining ?? Infinity) < (least.remaining ?? Infinity) ? lease : least,
  )
}

function leastLeft(line: WatchLine): number {
  return nextToEnd(line).remaining ?? Infinity
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
