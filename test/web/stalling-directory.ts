import type { WebDirectory } from '../../src/stores/browser/platform.ts'

export interface Stall {
  /** The number of the call that stalls, from 1. */
  readonly call: number
  /** `before`: the call has no effect yet. `after`: it had its effect, and the page does not know it yet. */
  readonly when: 'before' | 'after'
}

/** A directory for one tab, whose calls can stall: as a page does during a long task, or a slow browser. */
export function stallingDirectory(directory: WebDirectory) {
  const calls: string[] = []
  let stall: Stall | undefined
  let resume = () => {}

  /** Wraps every method of a handle, and of the handles and writers that it returns. */
  function wrap<T extends object>(target: T): T {
    return new Proxy(target, {
      get(object, key) {
        const method = Reflect.get(object, key)
        if (typeof method !== 'function') return method
        return async (...args: unknown[]) => {
          calls.push(String(key))
          const own = stall?.call === calls.length ? stall.when : undefined
          const stalled = own && new Promise<void>((resolve) => (resume = resolve))
          if (own === 'before') await stalled
          const result = await method.apply(object, args)
          if (own === 'after') await stalled
          return typeof result === 'object' && result !== null ? wrap(result) : result
        }
      },
    })
  }

  return {
    directory: wrap(directory),
    /** The names of the calls so far. */
    calls,
    /** From now on calls are counted from 1 again. */
    stallAt(next: Stall): void {
      calls.length = 0
      stall = next
    },
    resume: () => resume(),
  }
}
