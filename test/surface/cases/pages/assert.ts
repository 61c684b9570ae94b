/** The part of `node:assert/strict` that the cases use, for pages. */
export default Object.assign(assert, {
  equal(actual: unknown, expected: unknown) {
    assert(Object.is(actual, expected), `expected ${text(expected)}, got ${text(actual)}`)
  },
  deepEqual(actual: unknown, expected: unknown) {
    assert(isEqual(actual, expected), `expected ${text(expected)}, got ${text(actual)}`)
  },
  match(actual: string, expected: RegExp) {
    assert(expected.test(actual), `expected ${expected}, got ${text(actual)}`)
  },
})

function assert(value: unknown, message = `expected a truthy value, got ${text(value)}`): void {
  if (!value) throw new Error(message)
}

function isEqual(one: unknown, other: unknown): boolean {
  if (!isRecord(one) || !isRecord(other)) return Object.is(one, other)
  const keys = Object.keys(one)
  return (
    Array.isArray(one) === Array.isArray(other) &&
    keys.length === Object.keys(other).length &&
    keys.every((key) => key in other && isEqual(one[key], other[key]))
  )
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function text(value: unknown): string {
  return JSON.stringify(value) ?? String(value)
}
