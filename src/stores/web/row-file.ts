import { LeaseError } from '../../core/index.ts'
import type { Content } from '../browser/index.ts'
import type { LeaseRow } from '../lease-row.ts'

const FORMAT = 1
/** A file that cannot be read may have had a live lease in it: nothing is granted for this long after it changed. */
const UNREADABLE_MS = 30_000

/** All that the file of a directory store holds. */
export interface Table {
  readonly rows: Map<string, LeaseRow>
  /** No token up to this one is given again. */
  floor: number
}

/** Throws while a file that cannot be read must be respected. */
export function decodeRows(content: Content | null, now: number): Table {
  const table = content && readTable(content)
  if (content && !table && now < content.lastModified + UNREADABLE_MS)
    throw new LeaseError('store-unavailable', 'the lease file cannot be read; nothing is granted from it')
  return table ?? { rows: new Map(), floor: 0 }
}

/** Whether it cannot be read, and nobody knows how old it is, since the clock was set back after its last change. */
export function isUndated(content: Content, now: number): boolean {
  return content.lastModified > now && !readTable(content)
}

export function encodeRows({ rows, floor }: Table): string {
  return JSON.stringify({ format: FORMAT, floor, rows: [...rows.values()] })
}

function readTable({ text }: Content): Table | null {
  const found = parse(text)
  if (found && found.format > FORMAT)
    throw new LeaseError('store-failed', `the lease file has format ${found.format}: update Holdfast`)
  if (found?.format !== FORMAT || !Array.isArray(found.rows) || !found.rows.every(isRow)) return null
  return { rows: new Map(found.rows.map((row) => [row.resource, row])), floor: Number(found.floor) || 0 }
}

function parse(text: string): { format: number; floor?: unknown; rows?: unknown } | null {
  try {
    const found: unknown = JSON.parse(text)
    return found instanceof Object && 'format' in found ? (found as { format: number }) : null
  } catch {
    return null
  }
}

function isRow(row: Partial<LeaseRow> | null): row is LeaseRow {
  if (typeof row?.resource !== 'string' || !Number.isFinite(row.token)) return false
  const { lease, line, reserved } = row
  const isLease = lease === null || (hasId(lease) && Number.isFinite(lease.expiresAt + lease.span))
  const isReserved = reserved === null || (hasId(reserved) && Number.isFinite(reserved.until))
  return isLease && isReserved && Array.isArray(line) && line.every(hasId)
}

function hasId<T extends { readonly id: string }>(found: T | null | undefined): found is T {
  return typeof found?.id === 'string'
}
