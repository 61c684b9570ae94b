import type { Page } from 'playwright-core'

type Scenarios = Record<string, (...args: never[]) => Promise<unknown>>

/** Runs one of the scenarios that a page's module has put on its global object. */
export function runScenario<S extends Scenarios, N extends keyof S & string>(
  page: Page,
  name: N,
  ...args: Parameters<S[N]>
): ReturnType<S[N]> {
  const outcome = page.evaluate(
    ([name, args]) => {
      const { scenarios } = globalThis as unknown as {
        scenarios: Record<string, (...args: unknown[]) => unknown>
      }
      return scenarios[name]?.(...args)
    },
    [name, args as unknown[]] as const,
  )
  return outcome as ReturnType<S[N]>
}
