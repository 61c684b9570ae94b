/** The functions of a test runner. `timeout`: milliseconds. */
import { HANG_MS } from './options.ts'

export interface TestRunner {
  describe(name: string, body: () => void): unknown
  it: RunCase & { readonly skip?: RunCase }
}

/** Registers one test. */
export type RunCase = (name: string, body: () => Promise<void>, timeout?: number) => unknown

/** The given one, or the global functions of most runners. */
export function runnerOf(caller: string, runner = globalThis as unknown as TestRunner): TestRunner {
  if (typeof runner.describe !== 'function' || typeof runner.it !== 'function')
    throw new TypeError(`${caller}: expected global describe and it, or the option runner`)
  return runner
}

/** Shows a case that cannot run, with the names of the hooks that it needs. */
export function skipCase({ it }: TestRunner, title: string, hooks: readonly string[]): void {
  it.skip?.(`${title} (needs the hook ${hooks.join(', ')})`, async () => {})
}

/** A case may wait for dozens of TTLs, and repeats what took too long with a longer one. */
export function caseTimeoutMs(ttl: number): number {
  return 5 * HANG_MS + 200 * ttl
}
