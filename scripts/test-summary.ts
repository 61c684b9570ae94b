import { matchesGlob, relative } from 'node:path'

export interface Summary {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  /** What went wrong outside of any single test; each counts as one failure more. */
  readonly problems: readonly string[]
}

/** What is needed of Vitest's JSON report. */
export interface Report {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly numTodoTests: number
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly assertionResults: readonly { readonly status: string }[]
  }[]
}

interface Project {
  readonly name: string
  readonly include: readonly string[]
}

/** Counts tests, and finds files that could not be loaded and projects without tests. */
export function summarize(report: Report, projects: readonly Project[], root: string): Summary {
  const broken = report.testResults.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
  )
  const withTests = report.testResults.filter((file) => file.assertionResults.length > 0)
  const empty = projects.filter(
    ({ include }) =>
      !withTests.some((file) => include.some((glob) => matchesGlob(relative(root, file.name), glob))),
  )
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests,
    skipped: report.numPendingTests + report.numTodoTests,
    problems: [
      ...broken.map((file) => `${relative(root, file.name)} could not be run`),
      ...empty.map((project) => `project ${project.name} has no tests`),
    ],
  }
}

export function lastLine({ passed, failed, skipped, problems }: Summary): string {
  const line = `${passed} passed, ${failed + problems.length} failed`
  return skipped > 0 ? `${line}, ${skipped} skipped` : line
}
