import type { Recorder } from '../recorder.ts'
import type { Backend } from './backend.ts'

declare const holdfastRecorder: Recorder

/** What the cases of a backend used, and the errors of those that failed, by part. */
export interface Result {
  readonly failures: Readonly<Record<string, string>>
  readonly calls: readonly string[]
  readonly defaults: readonly string[]
  readonly options: readonly string[]
  readonly absent: readonly string[]
}

/** Runs the cases of a backend one after the other, and closes it. */
export async function runEach(backend: Backend): Promise<Result> {
  const failures: Record<string, string> = {}
  for (const [part, run] of Object.entries(backend.cases)) {
    try {
      await run()
    } catch (error) {
      failures[part] = error instanceof Error ? String(error.stack) : String(error)
    }
  }
  await backend[Symbol.asyncDispose]()
  const { calls, defaults, options, absent } = holdfastRecorder
  return {
    failures,
    calls: [...calls],
    defaults: [...defaults],
    options: [...options],
    absent: [...absent],
  }
}
