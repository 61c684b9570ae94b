/**
 * Work that many ask for and that takes its turn, such as a wait for a lock. `run` is called for the first request, and
 * calls `take` when its turn has come: all requests until then are in its set, and share its result.
 */
export function createTurns<R>(
  run: (take: () => ReadonlySet<string>) => Promise<R>,
): (requests: Iterable<string>) => Promise<R> {
  let next: { readonly requests: Set<string>; readonly result: Promise<R> } | undefined
  return (wanted) => {
    next ??= startTurn()
    for (const request of wanted) next.requests.add(request)
    return next.result
  }

  function startTurn(): NonNullable<typeof next> {
    const requests = new Set<string>()
    const begin = () => {
      if (next?.requests === requests) next = undefined
      return requests
    }
    // In the next microtask, because `run` may take at once.
    const result = Promise.resolve().then(() => run(begin))
    // The turn never came, for example because the lock was refused.
    result.catch(begin)
    return { requests, result }
  }
}
