/** Lets so many work at once; the others wait in the order in which they came. */
export function turnstile(places: number): <T>(work: () => Promise<T>) => Promise<T> {
  const line: (() => void)[] = []
  let free = places
  return async (work) => {
    if (free > 0) free--
    else await new Promise<void>((resolve) => line.push(resolve))
    try {
      return await work()
    } finally {
      const next = line.shift()
      if (next) next()
      else free++
    }
  }
}
