/** Runs one call of a method. It must return what `run` returns. */
export type Around = (method: string, run: () => unknown) => unknown

/**
 * The same object, except that calls of these methods go through `around`. Everything else reaches the object itself,
 * also its private fields.
 */
export function aroundCalls<T extends object>(
  target: T,
  methods: readonly (keyof T & string)[],
  around: Around,
): T {
  const wrapped = new Map<PropertyKey, unknown>()
  for (const name of methods) {
    const method = target[name]
    if (typeof method === 'function')
      wrapped.set(name, (...args: unknown[]) => around(name, () => method.apply(target, args)))
  }
  return new Proxy(target, {
    get(_, name) {
      if (wrapped.has(name)) return wrapped.get(name)
      const value = Reflect.get(target, name, target)
      // Not `bind`: V8 does not take a bound function as the method that `await using` calls.
      return typeof value === 'function' ? (...args: unknown[]) => value.apply(target, args) : value
    },
  })
}
