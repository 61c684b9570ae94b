import type { LeaseRecord } from '../core/index.ts'
import { heldFor, note, timeLeft } from './describe-lease.ts'
import { alignColumns, printable, type Terminal } from './terminal.ts'

export const NOTHING_HELD = 'Nothing is held. holdfast run <resource> -- <command> takes a lease.'

/** Leases for people: one line each under a heading. */
export function leaseTable(leases: readonly LeaseRecord[], terminal: Terminal): string[] {
  const [heading = '', ...lines] = alignColumns([
    ['RESOURCE', 'HOLDER', 'TOKEN', 'HELD FOR', 'LEFT', 'NOTE'],
    ...leases.map((lease) => [
      printable(lease.resource),
      printable(lease.owner),
      String(lease.token),
      heldFor(lease),
      timeLeft(lease),
      note(lease),
    ]),
  ])
  return [terminal.style('dim', heading), ...lines]
}
