import { after, describe, it } from 'node:test'

/** The runner of Node. A test that fails ends this process with exit code 1, and is named in its output. */
export const runner = { describe, it }

/** Runs the tests that `body` describes. */
export function runSuite(name: string, body: () => void): Promise<void> {
  return new Promise((resolve) => {
    describe(name, () => {
      body()
      after(() => resolve())
    })
  })
}

/** As in a runner that has `describe` and `it` as globals. */
export function withGlobals(body: () => void): void {
  Object.assign(globalThis, runner)
  body()
  for (const name of Object.keys(runner)) Reflect.deleteProperty(globalThis, name)
}
