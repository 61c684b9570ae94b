import type { LeaseRecord } from '../base/records.ts'
import type { WaitingQueue } from '../core/index.ts'
import { formatDuration } from './format-duration.ts'
import { alignColumns, cut, printable, shareColumns, type Terminal, width } from './terminal.ts'

export const NOTHING_HELD = 'Nothing is held. holdfast run <resource> -- <command> takes a lease.'

/** A lease as `--json` prints it. */
export function leaseToJson(lease: LeaseRecord) {
  const { resource, owner, token, id, state, metadata, acquiredAt, expiresAt, remaining } = lease
  return {
    resource,
    owner,
    token,
    id,
    state,
    metadata,
    acquiredAt: new Date(acquiredAt).toISOString(),
    expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString(),
    remainingMs: remaining === null ? null : Math.round(remaining),
  }
}

interface Column {
  readonly heading: string
  readonly text: (lease: LeaseRecord) => string
  /** Cut if the line is longer than the terminal is wide. */
  readonly isFlexible?: boolean
  /** Left out on a terminal that is narrower than this. */
  readonly from?: number
}

const COLUMNS: readonly Column[] = [
  { heading: 'RESOURCE', text: ({ resource }) => printable(resource), isFlexible: true },
  { heading: 'HOLDER', text: ({ owner }) => printable(owner), isFlexible: true },
  { heading: 'TOKEN', text: ({ token }) => String(token), from: 70 },
  { heading: 'HELD FOR', text: heldFor, from: 50 },
  { heading: 'LEFT', text: timeLeft },
  { heading: 'NOTE', text: noteOf, isFlexible: true, from: 90 },
]
const GAP = 2

/** One line for each lease, under a heading. No line is longer than the terminal is wide. */
export function leaseTable(leases: readonly LeaseRecord[], terminal: Terminal): string[] {
  const columns = COLUMNS.filter(({ from = 0 }) => terminal.columns >= from)
  const cells = columns.map(({ heading, text }) => [heading, ...leases.map(text)])
  const widths = cells.map((column) => Math.max(...column.map(width)))
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

/** Everything about one lease, one line for each fact. `queue`: those who wait for it, if the store can tell. */
export function leaseDetails(
  lease: LeaseRecord,
  terminal: Terminal,
  queue: WaitingQueue | null = null,
): string[] {
  const { acquiredAt, expiresAt } = leaseToJson(lease)
  const rows = [
    ['resource', printable(lease.resource)],
    ['holder', printable(lease.owner)],
    ['token', String(lease.token)],
    ['lease id', printable(lease.id)],
    ['held for', `${heldFor(lease)}, since ${acquiredAt}`],
    ['left', `${timeLeft(lease)}${expiresAt ? `, until ${expiresAt} unless it is renewed` : ''}`],
    ...(queue ? [['waiting', waitersText(queue)]] : []),
    ...metadataTexts(lease),
  ]
  return alignColumns(rows.map(([name = '', value = '']) => [terminal.style('dim', name), value]))
}

function waitersText({ count, first }: WaitingQueue): string {
  if (count === 0) return 'nobody'
  const owners = first.map(({ owner }) => printable(owner)).join(', ')
  return `${count}: ${owners}${count > first.length ? ', …' : ''}`
}

/** How long the lease had been held when the store read it. Both times are of the store's clock. */
export function heldFor({ acquiredAt, expiresAt, remaining }: LeaseRecord): string {
  if (expiresAt === null || remaining === null) return '?'
  return formatDuration(expiresAt - remaining - acquiredAt)
}

export function timeLeft({ remaining }: LeaseRecord): string {
  return remaining === null ? 'no end' : formatDuration(remaining)
}

function noteOf(lease: LeaseRecord): string {
  return metadataTexts(lease)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')
}

/** Each name in the metadata, with its value as text. */
export function metadataTexts({ metadata }: LeaseRecord): [name: string, value: string][] {
  return Object.entries(metadata ?? {}).map(([name, value]) => [
    printable(name),
    printable(typeof value === 'string' ? value : JSON.stringify(value)),
  ])
}
