import type { LeaseRecord } from '../base/records.ts'
import type { WaitingQueue } from '../core/index.ts'
import { formatDuration } from './format-duration.ts'
import { leaseToJson } from './lease-json.ts'
import { cut, GAP, printable, type Terminal, widest, width } from './terminal.ts'

/**
 * Everything about the leases of one resource, one line for each fact. `queue`: those who wait for it, if the store can
 * tell. `columns`: cuts each line to this width.
 */
export function resourceDetails(
  leases: readonly LeaseRecord[],
  terminal: Terminal,
  queue: WaitingQueue | null = null,
  columns = Infinity,
): string[] {
  const [first] = leases
  if (!first) return []
  const about = [['resource', printable(first.resource)]]
  const share = leases.some((lease) => lease.share !== null)
    ? [
        [
          'share',
          [...new Set(leases.map((lease) => shareText(lease, leases.length)))].filter(Boolean).join(', '),
        ],
      ]
    : []
  const waiting = queue ? [['waiting', waitersText(queue, share.length > 0)]] : []
  const blocks =
    leases.length === 1
      ? [[...about, ...holderRows(first), ...share, ...waiting, ...metadataTexts(first)]]
      : [
          [...about, ['holders', String(leases.length)], ...share, ...waiting],
          ...leases.map((lease) => [...holderRows(lease), ...metadataTexts(lease)]),
        ]
  const names = widest(blocks.flat().map(([name = '']) => name))
  const line = ([name = '', value = '']: readonly string[]) =>
    `${terminal.style('dim', name)}${' '.repeat(names - width(name) + GAP)}${cut(value, columns - names - GAP)}`
  return blocks.flatMap((block, n) => [...(n > 0 ? [''] : []), ...block.map(line)])
}

function holderRows(lease: LeaseRecord): string[][] {
  const { acquiredAt, expiresAt } = leaseToJson(lease)
  return [
    ['holder', printable(lease.owner)],
    ['token', String(lease.token)],
    ['lease id', printable(lease.id)],
    ['held for', `${heldFor(lease)}, since ${acquiredAt}`],
    ['left', `${timeLeft(lease)}${expiresAt ? `, until ${expiresAt} unless it is renewed` : ''}`],
  ]
}

/** `isShared`: says of each waiter what it waits for, because they differ. */
function waitersText({ count, first }: WaitingQueue, isShared: boolean): string {
  if (count === 0) return 'nobody'
  const differ = isShared || first.some(({ share }) => share !== null)
  const owners = first.map(({ owner, share }) => {
    const kind = share === null ? 'exclusive' : share === Infinity ? 'reader' : `share ${share}`
    return differ ? `${printable(owner)} (${kind})` : printable(owner)
  })
  return `${count}: ${owners.join(', ')}${count > first.length ? ', …' : ''}`
}

/** `holders`: how many leases of the resource there are. Empty for an exclusive lease. */
export function shareText({ share }: LeaseRecord, holders: number): string {
  if (share === null) return ''
  return share === Infinity ? 'reader' : `${holders} of ${share}`
}

/** How long the lease had been held when the store read it. Both times are of the store's clock. */
export function heldFor({ acquiredAt, expiresAt, remaining }: LeaseRecord): string {
  if (expiresAt === null || remaining === null) return '?'
  return formatDuration(expiresAt - remaining - acquiredAt)
}

export function timeLeft({ remaining }: LeaseRecord): string {
  return remaining === null ? 'no end' : formatDuration(remaining)
}

/** Each name in the metadata, with its value as text. */
export function metadataTexts({ metadata }: LeaseRecord): [name: string, value: string][] {
  return Object.entries(metadata ?? {}).map(([name, value]) => [
    printable(name),
    printable(typeof value === 'string' ? value : JSON.stringify(value)),
  ])
}
