/** The content of a generation, as JSON. Decoding returns nothing that was not checked. */
import { isObject } from '../../base/arguments.ts'
import type { LeaseRecord } from '../../base/records.ts'
import { decodeShare, encodeShare, isShare } from '../../base/share.ts'
import { type LeaseRow, newRow } from '../lease-row.ts'
import { decodeLeases, encodeLease } from '../stored-lease.ts'

const FORMAT = 2

export interface Saved {
  readonly row: LeaseRow
  /** The leases that this generation ended. */
  readonly ended: readonly LeaseRecord[]
  /** The ids of the leases that it granted or renewed. */
  readonly changed: readonly string[]
  /** The last generation: nothing follows, and the resource starts again in another directory. */
  readonly forgotten: boolean
}

/** `change` is unique, so that no two generations are equal. */
export function encode({ row, ended, changed, forgotten }: Saved, change: string): string {
  const { resource, token, endedAt } = row
  const leases = row.leases.map(encodeLease)
  const told = ended.map((lease) => ({ ...lease, share: encodeShare(lease.share) }))
  return JSON.stringify({
    format: FORMAT,
    change,
    resource,
    token,
    leases,
    endedAt,
    ended: told,
    changed,
    forgotten,
  })
}

/** `null`: the text is truncated, foreign, or of a newer version. */
export function decode(text: string): Saved | null {
  const found = upgraded(Object(parse(text)))
  const { format, resource, token, endedAt, changed, forgotten } = found
  const leases = decodeLeases(found.leases)
  const ended = decodeEnded(found.ended)
  const isWhole =
    format === FORMAT &&
    typeof resource === 'string' &&
    isToken(token) &&
    isTime(endedAt) &&
    Array.isArray(changed) &&
    changed.every((id) => typeof id === 'string') &&
    typeof forgotten === 'boolean'
  if (!isWhole || !leases || !ended) return null
  return { row: { ...newRow(resource, token), leases, endedAt }, ended, changed, forgotten }
}

/** Whether only a newer version of Holdfast can read it. */
export function isNewer(text: string): boolean {
  const { format } = Object(parse(text))
  return typeof format === 'number' && format > FORMAT
}

interface Fields {
  readonly format?: unknown
  readonly resource?: unknown
  readonly token?: unknown
  readonly lease?: { readonly id: string } | null
  readonly leases?: unknown
  readonly endedAt?: unknown
  readonly ended?: unknown
  readonly changed?: unknown
  readonly forgotten?: unknown
}

/** Format 1 had one lease for each resource. */
function upgraded(found: Fields): Fields {
  if (found.format !== 1) return found
  const { token, lease, ended } = found
  return {
    ...found,
    format: FORMAT,
    leases: isObject(lease) ? [{ token, share: null, ...lease }] : lease === null ? [] : null,
    changed: isObject(lease) ? [lease.id] : [],
    ended: isObject(ended) ? [{ share: null, ...ended }] : ended === null ? [] : null,
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function decodeEnded(values: unknown): LeaseRecord[] | null {
  if (!Array.isArray(values)) return null
  const ended = values.map((value) => {
    const lease = { ...Object(value), share: decodeShare(Object(value).share) }
    return isEnded(lease) ? lease : null
  })
  return ended.every((lease) => lease !== null) ? ended : null
}

function isEnded(lease: Record<string, unknown>): lease is Record<string, unknown> & LeaseRecord {
  const { resource, id, owner, token, metadata, share, acquiredAt, expiresAt, remaining, state } = lease
  return (
    [resource, id, owner].every((text) => typeof text === 'string') &&
    isToken(token) &&
    (metadata === null || isObject(metadata)) &&
    (share === null || isShare(share)) &&
    [acquiredAt, expiresAt, remaining].every(isTime) &&
    ['released', 'expired', 'taken-over'].includes(state as string)
  )
}

function isTime(value: unknown): value is number {
  return Number.isFinite(value)
}

function isToken(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}
