/**
 * Sets `Date` of this process off by `ms` milliseconds, until the returned function is called. For the hook
 * `skewCaller` of stores whose backend has a clock of its own.
 *
 * @example
 * describeStore('mine', { create, skewCaller: (_, ms) => skewDate(ms) })
 */
export function skewDate(ms: number): () => void {
  const { Date: real } = globalThis
  class SkewedDate extends real {
    constructor(...args: ConstructorParameters<DateConstructor> | []) {
      super(...((args.length > 0 ? args : [SkewedDate.now()]) as ConstructorParameters<DateConstructor>))
    }
    static override now(): number {
      return real.now() + ms
    }
    /** Dates from before are dates, too. */
    static override [Symbol.hasInstance](value: unknown): boolean {
      return value instanceof real
    }
  }
  globalThis.Date = SkewedDate as DateConstructor
  return () => {
    globalThis.Date = real
  }
}
