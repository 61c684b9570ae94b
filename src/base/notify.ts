/** Calls a listener. What it throws, now or later, affects nobody else. */
export function notify<A extends readonly unknown[]>(
  listener: ((...args: A) => unknown) | undefined,
  ...args: A
): void {
  try {
    const result = listener?.(...args)
    if (hasThen(result)) result.then(undefined, () => {})
  } catch {
    // The listener's own problem.
  }
}

function hasThen(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | undefined)?.then === 'function'
}
