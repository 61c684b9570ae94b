import type { LeaseError } from '../base/errors.ts'
import type { Lease } from './lease.ts'
import type { Work } from './leases.ts'
import type { LeadOptions } from './options.ts'
import type { Tools } from './rare-methods.ts'

/** Waits without a time limit, runs `work` while it holds the lease, and starts again after a loss. */
export async function lead<T>(
  tools: Tools,
  resource: string,
  work: Work<T>,
  options?: LeadOptions,
): Promise<T | undefined> {
  if (typeof work !== 'function') tools.refuse('work', 'a function', work)
  tools.expectOneAttempt(options)
  tools.manager.check(resource, options)
  const stop = options?.signal
  for (;;) {
    const granted: Lease[] = []
    const lead: Work<T> = (lease, signal) => {
      granted.push(lease)
      return work(lease, signal)
    }
    try {
      const result = await tools.leases.withLease(resource, lead, { ...options, wait: Infinity })
      return stop?.aborted ? undefined : result
    } catch (error) {
      const [lease] = granted
      const isLost = lease ? tools.keeperOf(lease).loss.reason : (error as LeaseError).code === 'lease-lost'
      if (stop?.aborted && (!lease || isLost || isAbort(error, stop))) return
      if (!isLost) throw error
    }
  }
}

/** Whether the work threw because it was told to stop. */
function isAbort(error: unknown, { reason }: AbortSignal): boolean {
  const { name, code } = Object(error) as Partial<LeaseError>
  return error === reason || name === 'AbortError' || code === 'aborted'
}
