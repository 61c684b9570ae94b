/** Returns how to end it. A listener that throws harms nobody. */
export function subscribeTo<T extends (argument: never) => unknown>(
  listeners: Set<T>,
  listener: T,
): () => void {
  // A function of its own, so that the same one may subscribe twice.
  const own = ((argument) => {
    try {
      return listener(argument)
    } catch {
      return undefined
    }
  }) as T
  listeners.add(own)
  return () => listeners.delete(own)
}
