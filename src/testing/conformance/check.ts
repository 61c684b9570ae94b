/** Assertions without a library, so that the suite runs under any test runner and in a browser. */
export function check(condition: boolean, expectation: string): asserts condition {
  if (!condition) throw new Error(`expected that ${expectation}`)
}

export function checkEqual<T>(actual: T, expected: T, what: string): void {
  const [a, e] = [JSON.stringify(sorted(actual)), JSON.stringify(sorted(expected))]
  if (a !== e) throw new Error(`${what}: expected ${e}, got ${a}`)
}

export async function checkRejects(work: Promise<unknown>, what: string): Promise<unknown> {
  const outcome = await work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  if (!('error' in outcome))
    throw new Error(`${what}: expected a rejection, got ${JSON.stringify(outcome.value)}`)
  return outcome.error
}

/** The same value whatever the order of its keys: JSON objects have none. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (value === null || typeof value !== 'object') return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]))
}
