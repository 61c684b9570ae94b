import type { LeaseRecord } from '../core/index.ts'
import { formatDuration } from './duration.ts'
import { printable } from './terminal.ts'

/** A lease as programs are shown it. */
export function leaseToJson(lease: LeaseRecord) {
  const { resource, owner, token, id, state, metadata, acquiredAt, expiresAt, remaining } = lease
  return {
    ...{ resource, owner, token, id, state, metadata },
    acquiredAt: new Date(acquiredAt).toISOString(),
    expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString(),
    remainingMs: remaining === null ? null : Math.round(remaining),
  }
}

/** How long it has been held when the store looked: both times are of the store's clock. */
export function heldFor({ acquiredAt, expiresAt, remaining }: LeaseRecord): string {
  if (expiresAt === null || remaining === null) return '?'
  return formatDuration(expiresAt - remaining - acquiredAt)
}

export function timeLeft({ remaining }: LeaseRecord): string {
  return remaining === null ? 'no end' : formatDuration(remaining)
}

/** One line for what the holder says about itself. */
export function note({ metadata }: LeaseRecord): string {
  if (!metadata) return ''
  const show = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
  return printable(
    Object.entries(metadata)
      .map(([name, value]) => `${name}=${show(value)}`)
      .join(' '),
  )
}
