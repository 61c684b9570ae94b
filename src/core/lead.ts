import type { LeaseError } from '../base/errors.ts'
import type { LeadOptions, Work } from './leases.ts'
import type { Tools } from './rare-methods.ts'
import { withBoth } from './with-both.ts'

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
    const lease = await tools.leases.acquire(resource, { ...options, wait: Infinity }).catch((error) => {
      if (!stop?.aborted) throw error
    })
    if (!lease) return
    try {
      const result = await (stop ? withBoth(lease, stop, work) : work(lease, lease.signal))
      if (!stop?.aborted && !lease.signal.aborted) return result
    } catch (error) {
      if (!lease.signal.aborted && !(stop?.aborted && isAbort(error, stop))) throw error
    } finally {
      await lease[Symbol.asyncDispose]()
    }
  }
}

/** Whether the work threw because it was told to stop. */
function isAbort(error: unknown, { reason }: AbortSignal): boolean {
  const { name, code } = Object(error) as Partial<LeaseError>
  return error === reason || name === 'AbortError' || code === 'aborted'
}
