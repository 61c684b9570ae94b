import type { LeaseRecord } from '../base/records.ts'
import type { LookingStore } from '../core/index.ts'

/**
 * All live leases whose resources begin with the prefix, ordered by resource. Reads one page at a time. The manager of
 * the core can list too, but `ls` would take longer to load it than to list.
 */
export async function* listLeases(
  store: LookingStore,
  prefix: string,
  pageSize: number,
): AsyncGenerator<LeaseRecord> {
  for (let after: string | undefined; ; ) {
    const { leases, next } = await store.list({ prefix, limit: pageSize, ...(after && { after }) })
    yield* leases
    if (!next) return
    after = next
  }
}
