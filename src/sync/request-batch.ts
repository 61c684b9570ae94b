/**
 * Joins requests that wait for the same thing, such as a lock. `run` is called for the first request, and calls `take`
 * when it can begin: it gets all requests that were made until then, and they all get its result.
 *
 * Not `clients/together.ts`, which gathers for one moment: this one gathers for as long as the lock takes.
 */
export function createRequestBatch<R>(
  run: (take: () => ReadonlySet<string>) => Promise<R>,
): (requests: Iterable<string>) => Promise<R> {
  let next: { readonly requests: Set<string>; readonly result: Promise<R> } | undefined
  return (wanted) => {
    next ??= startBatch()
    for (const request of wanted) next.requests.add(request)
    return next.result
  }

  function startBatch(): NonNullable<typeof next> {
    const requests = new Set<string>()
    const begin = () => {
      if (next?.requests === requests) next = undefined
      return requests
    }
    // In the next microtask, because `run` may call `take` at once.
    const result = Promise.resolve().then(() => run(begin))
    // `take` was never called, for example because the lock was refused.
    result.catch(begin)
    return { requests, result }
  }
}
