import type { LeaseRecord } from '../base/records.ts'
import type {
  Answer,
  Ask,
  Grant,
  LeasePage,
  ListQuery,
  ReleaseAsk,
  Released,
  RenewAsk,
  Renewal,
  WaitingQuery,
  WaitingQueue,
} from '../core/index.ts'
import { mayBeListed, pageOf } from './lease-page.ts'
import {
  ask,
  type Effects,
  expire,
  isForgettable,
  type LeaseRow,
  newRow,
  release,
  renew,
  shownRecords,
  waitingIn,
  wouldGrant,
} from './lease-row.ts'

/** All resources of a store that keeps them together: in memory, or in one file. */
export class LeaseTable {
  readonly rows: Map<string, LeaseRow>
  /** The highest token of all rows that were deleted. No token up to it may be granted again. */
  floor: number

  constructor(rows: Iterable<LeaseRow> = [], floor = 0) {
    this.rows = new Map(Array.from(rows, (row) => [row.resource, row]))
    this.floor = floor
  }

  /** `channel`: where the request waits in the queue, if it wants to wait. */
  acquire(request: Ask, channel: string, now: number, effects: Effects): Answer {
    const { resource, wake } = request
    const row = this.rows.get(resource) ?? newRow(resource, this.floor)
    this.rows.set(resource, row)
    return ask(row, request, wake ? channel : null, now, effects)
  }

  /** All or none, and without a change then: `null`. */
  acquireAll(requests: readonly Ask[], now: number, effects: Effects): Grant[] | null {
    const rows = requests.map(({ resource }) => this.rows.get(resource) ?? newRow(resource, this.floor))
    if (!rows.every((row, n) => wouldGrant(row, requests[n] as Ask, now))) return null
    return requests.map((request) => this.acquire(request, '', now, effects) as Grant)
  }

  renew(request: RenewAsk, now: number, effects: Effects): Renewal {
    const row = this.rows.get(request.resource)
    return row ? renew(row, request, now, effects) : { ok: false, holders: [] }
  }

  release(by: ReleaseAsk, now: number, effects: Effects): Released {
    const row = this.rows.get(by.resource)
    return row ? release(row, by, now, effects) : { ended: null, holders: [] }
  }

  read(resources: readonly string[], now: number): LeaseRecord[][] {
    return resources.map((resource) => {
      const row = this.rows.get(resource)
      return row ? shownRecords(row, now) : []
    })
  }

  waiting({ resources, limit }: WaitingQuery): WaitingQueue[] {
    return resources.map((resource) => waitingIn([...(this.rows.get(resource)?.queue.values() ?? [])], limit))
  }

  list(query: ListQuery, now: number): LeasePage {
    const rows = Array.from(this.rows.values()).filter(({ resource }) => mayBeListed(resource, query))
    return pageOf(
      rows.flatMap((row) => shownRecords(row, now)),
      query,
    )
  }

  /** Returns the leases that it ended. */
  sweep(limit: number, now: number, effects: Effects): LeaseRecord[] {
    const swept: LeaseRecord[] = []
    for (const row of this.rows.values()) {
      if (swept.length >= limit) break
      swept.push(...expire(row, now, effects, limit - swept.length))
    }
    return swept
  }

  /** Deletes the rows that nobody needs. */
  prune(now: number): void {
    for (const row of this.rows.values()) {
      if (!isForgettable(row, now)) continue
      this.floor = Math.max(this.floor, row.token)
      this.rows.delete(row.resource)
    }
  }
}
