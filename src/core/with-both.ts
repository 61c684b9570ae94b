import type { Lease } from './lease.ts'

/**
 * Runs the work with a signal that aborts with that of the lease and with that of the caller. Not `AbortSignal.any`,
 * which would leave a trace of each call in a signal that outlives it.
 */
export async function withBoth<Held extends Pick<Lease, 'signal'>, T>(
  lease: Held,
  callers: AbortSignal,
  work: (lease: Held, signal: AbortSignal) => T | PromiseLike<T>,
): Promise<T> {
  const both = new AbortController()
  const stop = () => both.abort((callers.aborted ? callers : lease.signal).reason)
  const sources = [callers, lease.signal]
  for (const source of sources) source.addEventListener('abort', stop)
  if (sources.some(({ aborted }) => aborted)) stop()
  try {
    return await work(lease, both.signal)
  } finally {
    for (const source of sources) source.removeEventListener('abort', stop)
  }
}
