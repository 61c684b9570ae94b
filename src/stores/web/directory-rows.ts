import { isObject } from '../../base/arguments.ts'
import { LeaseError } from '../../base/errors.ts'
import type { Content } from '../browser/gated-file.ts'
import { LeaseTable } from '../lease-table.ts'
import { QUARANTINE_MS } from '../options.ts'
import { decodeRow, encodeRow } from '../stored-lease.ts'

const FORMAT = 2

/** A damaged file may have contained a live lease: nothing is granted for a while after its last change. */
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
  return JSON.stringify({ format: FORMAT, floor, rows: Array.from(rows.values(), encodeRow) })
}

/** `null`: the file is damaged. */
function readTable({ text }: Content): LeaseTable | null {
  const { format, floor, rows } = parse(text)
  if (typeof format === 'number' && format > FORMAT)
    throw new LeaseError('store-failed', `the lease file has format ${format}: update Holdfast`)
  if ((format !== 1 && format !== FORMAT) || !Array.isArray(rows)) return null
  const decoded = rows.map(format === 1 ? (row) => decodeRow(upgraded(row)) : decodeRow)
  return decoded.every((row) => row !== null)
    ? new LeaseTable(decoded, Number.isSafeInteger(floor) ? Number(floor) : 0)
    : null
}

/** Format 1 had one lease and one reservation for each resource. */
function upgraded(row: unknown): unknown {
  if (!isObject(row)) return row
  const { token, lease, reserved } = row
  const leases = lease === null ? [] : [isObject(lease) ? { token, share: null, ...lease } : lease]
  return { ...row, leases, reserved: reserved === null ? [] : [reserved] }
}

function parse(text: string): Record<string, unknown> {
  try {
    const found: unknown = JSON.parse(text)
    return isObject(found) ? found : {}
  } catch {
    return {}
  }
}
