import type { LeaseRecord } from '../base/records.ts'
import { formatDuration } from './format-duration.ts'
import { alignColumns, printable, type Terminal } from './terminal.ts'

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

/** One line for each lease, under a heading. */
export function leaseTable(leases: readonly LeaseRecord[], terminal: Terminal): string[] {
  const [heading = '', ...lines] = alignColumns([
    ['RESOURCE', 'HOLDER', 'TOKEN', 'HELD FOR', 'LEFT', 'NOTE'],
    ...leases.map((lease) => [
      printable(lease.resource),
      printable(lease.owner),
      String(lease.token),
      heldFor(lease),
      timeLeft(lease),
      metadataTexts(lease)
        .map(([name, value]) => `${name}=${value}`)
        .join(' '),
    ]),
  ])
  return [terminal.style('dim', heading), ...lines]
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
