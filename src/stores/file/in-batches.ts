/** Enough to keep the thread pool busy. */
const BATCH = 16

/** Works on the items a batch at a time, and gives the results in the order of the items. */
export async function* inBatches<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
): AsyncGenerator<R, void, undefined> {
  for (let start = 0; start < items.length; start += BATCH)
    yield* await Promise.all(items.slice(start, start + BATCH).map(work))
}
