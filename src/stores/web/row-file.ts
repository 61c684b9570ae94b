import { isObject } from '../../base/arguments.ts'
import { LeaseError } from '../../base/errors.ts'
import type { Content } from '../browser/index.ts'
import type { LeaseRow, Waiter } from '../lease-row.ts'
import { LeaseTable } from '../lease-table.ts'

const FORMAT = 1
/** A damaged file may have contained a live lease: nothing is granted for this long after its last change. */
const QUARANTINE_MS = 30_000

/** A row in the file. The queue has the name `line` there. */
type StoredRow = Omit<LeaseRow, 'queue'> & { readonly line: readonly Waiter[] }

/** Throws as long as a damaged file must be respected. */
export function decodeTable(content: Content | null, now: number): LeaseTable {
  const table = content && readTable(content)
  if (content && !table && now < content.lastModified + QUARANTINE_MS)
    throw new LeaseError(
      'store-unavailable',
      'the lease file is damaged; nothing is granted from it for 30 s',
    )
  return table ?? new LeaseTable()
}

/** Whether the file is damaged, and its age is unknown because the clock was set back after its last change. */
export function isUndated(content: Content, now: number): boolean {
  return content.lastModified > now && !readTable(content)
}

export function encodeTable({ rows, floor }: LeaseTable): string {
  const stored = Array.from(
    rows.values(),
    ({ queue, ...row }): StoredRow => ({ ...row, line: [...queue.values()] }),
  )
  return JSON.stringify({ format: FORMAT, floor, rows: stored })
}

/** `null`: the file is damaged. */
function readTable({ text }: Content): LeaseTable | null {
  const { format, floor, rows } = parse(text)
  if (Number(format) > FORMAT)
    throw new LeaseError('store-failed', `the lease file has format ${format}: update Holdfast`)
  if (format !== FORMAT || !Array.isArray(rows) || !rows.every(isRow)) return null
  return new LeaseTable(
    rows.map(({ line, ...row }) => ({ ...row, queue: new Map(line.map((waiter) => [waiter.id, waiter])) })),
    Number(floor) || 0,
  )
}

function parse(text: string): Record<string, unknown> {
  try {
    const found: unknown = JSON.parse(text)
    return isObject(found) ? found : {}
  } catch {
    return {}
  }
}

function isRow(row: Partial<StoredRow> | null): row is StoredRow {
  if (typeof row?.resource !== 'string' || !Number.isFinite(row.token)) return false
  const { lease, line, reserved } = row
  const isLease = lease === null || (hasId(lease) && Number.isFinite(lease.expiresAt + lease.span))
  const isReserved = reserved === null || (hasId(reserved) && Number.isFinite(reserved.until))
  return isLease && isReserved && Array.isArray(line) && line.every(hasId)
}

function hasId<T extends { readonly id: string }>(found: T | null | undefined): found is T {
  return typeof found?.id === 'string'
}
