import { orAborted } from '../base/abort.ts'
import { asLeaseError, LeaseError } from '../base/errors.ts'
import type { Grant, HoldRequests } from './hold-requests.ts'

type Slot = 'acquire' | 'demand'

export type PendingRequests = ReturnType<typeof trackRequests>

/** The requests for the lock that are under way: at most one in each slot. */
export function trackRequests(requests: HoldRequests, isHeld: () => boolean) {
  const pending = new Map<Slot, AbortController>()
  return { has: (slot: Slot) => pending.has(slot), any: () => pending.size > 0, run, stop }

  /**
   * The outcome of a request, its error, or `undefined` if the request was stopped. A request that was stopped is not
   * cut off, because the server may have granted it by then. Such a grant is given back, unless another call has it.
   */
  async function run<T>(
    slot: Slot,
    request: (signal: AbortSignal) => Promise<T | Grant>,
  ): Promise<T | Grant | LeaseError | undefined> {
    stop(slot)
    const own = new AbortController()
    const { signal } = own
    pending.set(slot, own)
    const response = request(signal)
    const outcome = await orAborted(response, signal).catch(asLeaseError)
    if (signal.aborted) {
      const giveBack = (late: T | Grant) => {
        if (isGrant(late) && !isWanted()) requests.release(late.lease).catch(() => {})
      }
      response.then(giveBack, () => {})
      return undefined
    }
    pending.delete(slot)
    // The server may have granted a request whose response was lost.
    const isUnclear = outcome instanceof LeaseError && outcome.retryable
    if (isUnclear && !isWanted()) requests.withdraw().catch(() => {})
    return outcome
  }

  function stop(slot: Slot): void {
    pending.get(slot)?.abort()
    pending.delete(slot)
  }

  /** Whether this tab has the lock, or a call that may get it. */
  function isWanted(): boolean {
    return pending.size > 0 || isHeld()
  }
}

export function isGrant(outcome: unknown): outcome is Grant {
  return 'lease' in Object(outcome)
}
