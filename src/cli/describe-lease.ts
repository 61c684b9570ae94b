import type { LeaseRecord } from '../base/records.ts'
import type { WaitingQueue } from '../core/index.ts'
import { formatDuration } from './format-duration.ts'
import { leaseToJson } from './lease-json.ts'
import { COLUMN_GAP } from './options.ts'
import { cut, printable, type Terminal, widest, width } from './terminal.ts'

/**
 * Everything about the leases of one resource, one line for each fact. `queue`: those who wait for it, if the store can
 * tell. `columns`: cuts each line to this width. `shown`: of how many holders. `isStale`: the store does not answer, so
 * nobody knows how long the leases last.
 */
export function resourceDetails(
  leases: readonly LeaseRecord[],
  terminal: Terminal,
  queue: WaitingQueue | null = null,
  { columns = Infinity, shown = leases.length, isStale = false } = {},
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
      ? [[...about, ...holderRows(first, isStale), ...share, ...waiting, ...metadataTexts(first)]]
      : [
          [...about, ['holders', String(leases.length)], ...share, ...waiting],
          ...leases.slice(0, shown).map((lease) => [...holderRows(lease, isStale), ...metadataTexts(lease)]),
        ]
  const names = widest(blocks.flat().map(([name = '']) => name))
  const line = ([name = '', value = '']: readonly string[]) =>
    `${terminal.style('dim', name)}${' '.repeat(names - width(name) + COLUMN_GAP)}${cut(value, columns - names - COLUMN_GAP)}`
  const more = leases.length - shown
  return [
    ...blocks.flatMap((block, n) => [...(n > 0 ? [''] : []), ...block.map(line)]),
    ...(more > 0 ? ['', `and ${more} more ${more === 1 ? 'holder' : 'holders'}`] : []),
  ]
}

function holderRows(lease: LeaseRecord, isStale: boolean): string[][] {
  const { acquiredAt, expiresAt } = leaseToJson(lease)
  const token = ['token', String(lease.token)]
  if (lease.state === 'kept')
    return [
      ['state', 'kept after its last lease, by --at-least or --lock-delay'],
      ['last owner', printable(lease.owner)],
      token,
      ['left', `${isStale ? '?' : timeLeft(lease)}, free at ${expiresAt}`],
    ]
  return [
    ['holder', printable(lease.owner)],
    token,
    ['held for', `${isStale ? '?' : heldFor(lease)}, since ${acquiredAt}`],
    [
      'left',
      `${isStale ? '?' : timeLeft(lease)}${expiresAt ? `, until ${expiresAt} unless it is renewed` : ''}`,
    ],
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

/**
 * How long the lease had been held when the store read it. Both times are of the store's clock. Empty if it has ended:
 * the store does not know when.
 */
export function heldFor({ acquiredAt, expiresAt, remaining, state }: LeaseRecord): string {
  if (state === 'kept') return ''
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
