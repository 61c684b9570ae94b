import type { HeldLease } from './held-lease.ts'

/** Of all managers of this process. */
const heldIds = new Set<string>()

/** Whether this process holds the lease with this id. */
export function isHeldHere(id: string): boolean {
  return heldIds.has(id)
}

/** The leases that a manager holds. */
export class HeldLeases extends Set<HeldLease> {
  override add(lease: HeldLease): this {
    heldIds.add(lease.id)
    return super.add(lease)
  }

  override delete(lease: HeldLease): boolean {
    heldIds.delete(lease.id)
    return super.delete(lease)
  }
}
