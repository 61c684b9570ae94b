/** Calls a listener. What it throws, now or later, affects nobody else. */
export function notify<A extends readonly unknown[]>(
  listener: ((...args: A) => unknown) | undefined,
  ...args: A
): void {
  try {
    const result = listener?.(...args) as Partial<PromiseLike<unknown>> | undefined
    result?.then?.(undefined, () => {})
  } catch {
    // The listener's own problem.
  }
}
