/** The rows of the leases on Web Locks, brought up to date by what the lock manager says. */
import type { Clock } from '../../base/clock.ts'
import { type LeaseRow, newRow, type StoredLease } from '../lease-row.ts'
import type { HeldLocks, LeaseLocks, NamedLease } from './lease-locks.ts'
import { encodeRecord, type LeaseRecords, type WebRow } from './rows.ts'

/** The TTL of a lease that ends with its tab. JSON has no infinity. */
export const FOREVER_MS = Number.MAX_SAFE_INTEGER
/** The row of the token floor: no resource has an empty name. */
export const FLOOR = ''

export interface OpenRow {
  readonly row: WebRow
  /** The leases whose locks are held, by their ids. Empty if nobody had to look. */
  readonly living: ReadonlyMap<string, NamedLease>
  /** As it is stored. */
  readonly text: string
}

export interface LockRows {
  /** `look`: also if the row is empty. A row may be opened without the gate, if it is not saved. */
  open(resource: string, look?: boolean): Promise<OpenRow>
  /** To look at them only. */
  openSome(resources: readonly string[]): Promise<WebRow[]>
  openAll(filter: (row: WebRow) => boolean): Promise<WebRow[]>
  save(opened: OpenRow): Promise<void>
  /** Its token stays below all later ones. */
  remove(row: LeaseRow): Promise<void>
  /** Somebody holds the main lock who is not in the row. */
  addStranger(row: LeaseRow, share?: number | null): void
}

/** `own`: the channel of this store's waiters, and its leases by their ids. */
export function lockRows(
  records: LeaseRecords,
  native: LeaseLocks,
  clock: Clock,
  own: { readonly channel: string; readonly holds: ReadonlyMap<string, unknown> },
): LockRows {
  const floor = async () => (await records.get(FLOOR))?.token ?? 0

  /** Whether there are holders or waiters that only the browser can tell to be alive. */
  function needsLook({ leases, queue }: WebRow): boolean {
    return (
      leases.some(({ id, keptUntil }) => keptUntil === undefined && !own.holds.has(id)) ||
      [...queue.values()].some(({ channel }) => channel !== own.channel)
    )
  }

  function update(row: WebRow, { leases, channels }: HeldLocks): ReadonlyMap<string, NamedLease> {
    const now = clock.now()
    const living = leases.get(row.resource) ?? new Map<string, NamedLease>()
    // Its tab was closed. When that was is not known, so it counts from now.
    for (const lease of row.leases)
      if (lease.keptUntil === undefined && !living.has(lease.id))
        lease.expiresAt = Math.min(lease.expiresAt, now)
    for (const { id, channel } of row.queue.values()) {
      if (channels.has(channel)) continue
      row.queue.delete(id)
      row.reserved.delete(id)
    }
    const known = new Set(row.leases.filter(({ keptUntil }) => keptUntil === undefined).map(({ id }) => id))
    for (const { id, share } of living.values())
      if (!known.has(id) && !own.holds.has(id)) addStranger(row, share)
    return living
  }

  function addStranger(row: LeaseRow, share: number | null = null): void {
    const now = clock.now()
    const times = { acquiredAt: now, expiresAt: now + FOREVER_MS, span: FOREVER_MS }
    row.leases.push({ id: '', owner: '', token: STRANGER_TOKEN, metadata: null, share, ...times })
  }

  return {
    addStranger,

    async open(resource, look = false) {
      const [found, early] = await Promise.all([records.get(resource), look ? native.held() : undefined])
      const row = found ?? newRow(resource, await floor())
      const text = JSON.stringify(encodeRecord(row))
      const held = early ?? (needsLook(row) ? await native.held() : undefined)
      return { row, living: held ? update(row, held) : new Map(), text }
    },

    async openSome(resources) {
      const found = await Promise.all(resources.map((resource) => records.get(resource)))
      const opened = found.map((row, n) => row ?? newRow(resources[n] ?? '', 0))
      if (!opened.some(needsLook)) return opened
      const held = await native.held()
      for (const row of opened) update(row, held)
      return opened
    },

    async openAll(filter) {
      const [found, held] = await Promise.all([records.all(), native.held()])
      const rows = found.filter((row) => row.resource !== FLOOR && filter(row))
      for (const row of rows) update(row, held)
      return rows
    },

    async save({ row, text }) {
      row.leases = row.leases.filter((lease) => !isStranger(lease))
      if (JSON.stringify(encodeRecord(row)) !== text) await records.put(row)
    },

    async remove({ resource, token }) {
      await native.gated(FLOOR, async () => {
        await records.put(newRow(FLOOR, Math.max(token, await floor())))
      })
      await records.remove(resource)
    },
  }
}

/** No lease has it. */
const STRANGER_TOKEN = 0

/** A lease whose locks are held, though its row was lost: the user has cleared the data of the site. */
export function isStranger({ token }: Pick<StoredLease, 'token'>): boolean {
  return token === STRANGER_TOKEN
}
