import { type LiveLease, leaseKey } from './live-leases.ts'

/** A resource with its leases. */
export interface ResourceGroup {
  readonly resource: string
  /** Those that the filter leaves, the oldest first. Never empty. */
  readonly leases: readonly [LiveLease, ...LiveLease[]]
  /** How many leases it has, whatever the filter. */
  readonly total: number
}

/** One line of the table: the only lease of a resource, a resource with several leases, or one of those below it. */
export interface TableLine {
  readonly id: string
  readonly kind: 'lease' | 'group' | 'part'
  readonly lease: LiveLease
  readonly group: ResourceGroup
}

/** `isWanted`: a lease that the filter leaves. */
export function groupByResource(
  leases: readonly LiveLease[],
  isWanted: (lease: LiveLease) => boolean,
): ResourceGroup[] {
  const groups = new Map<string, { leases: LiveLease[]; total: number }>()
  for (const lease of leases) {
    const group = groups.get(lease.resource) ?? { leases: [], total: 0 }
    groups.set(lease.resource, group)
    group.total++
    if (isWanted(lease)) group.leases.push(lease)
  }
  return Array.from(groups).flatMap(([resource, { leases, total }]) => {
    const [first, ...others] = leases.sort((one, other) => one.token - other.token)
    return first ? [{ resource, leases: [first, ...others] as const, total }] : []
  })
}

/** A folded group is one line. */
export function linesOf(
  groups: readonly ResourceGroup[],
  isOpen: (group: ResourceGroup) => boolean,
): TableLine[] {
  return groups.flatMap((group) => {
    const line = (kind: TableLine['kind'], lease: LiveLease) => ({
      id: kind === 'group' ? group.resource : leaseKey(lease),
      kind,
      lease,
      group,
    })
    const [first] = group.leases
    if (group.total === 1) return [line('lease', first)]
    const parts = isOpen(group) ? group.leases.map((lease) => line('part', lease)) : []
    return [line('group', first), ...parts]
  })
}

/** Of its leases, the one that ends first. */
export function nextToEnd({ leases: [first, ...others] }: ResourceGroup): LiveLease {
  return others.reduce((next, lease) => (endOf(lease) < endOf(next) ? lease : next), first)
}

function endOf({ endsAt }: LiveLease): number {
  return endsAt ?? Infinity
}
