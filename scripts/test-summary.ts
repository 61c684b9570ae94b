import { matchesGlob, relative } from 'node:path'

export interface Summary {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  /** The tests that failed. */
  readonly failures: readonly Failure[]
  /** What went wrong outside of a test. Each counts as one more failure. */
  readonly problems: readonly string[]
}

export interface Failure {
  readonly title: string
  /** The first line of the error. */
  readonly reason: string
  /** Runs this test alone. */
  readonly command: string
}

/** The fields of Vitest's JSON report that the summary reads. */
export interface Report {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly numTodoTests: number
  readonly testResults: readonly TestFile[]
}

interface TestFile {
  readonly name: string
  readonly status: string
  readonly assertionResults: readonly {
    readonly status: string
    readonly ancestorTitles: readonly string[]
    readonly title: string
    readonly failureMessages: readonly string[]
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
    failures: report.testResults.flatMap((file) => failuresIn(file, relative(root, file.name))),
    problems: [
      ...broken.map(({ name }) => {
        const path = relative(root, name)
        return `${path} could not be run: ${commandFor(path)}`
      }),
      ...empty.map((project) => `project ${project.name} has no tests`),
    ],
  }
}

/** The failed tests and the problems, for the end of the output, where people look first. */
export function failureLines({ failures, problems }: Summary): string[] {
  const lines = failures.flatMap(({ title, reason, command }) => [
    `✗ ${title}`,
    `  ${reason}`,
    `  ${command}`,
    '',
  ])
  const heading = 'Failed tests, each with the command that runs it alone:'
  return [...(lines.length > 0 ? [heading, '', ...lines] : []), ...problems]
}

export function lastLine({ passed, failed, skipped, problems }: Summary): string {
  const line = `${passed} passed, ${failed + problems.length} failed`
  return skipped > 0 ? `${line}, ${skipped} skipped` : line
}

function failuresIn({ assertionResults }: TestFile, path: string): Failure[] {
  return assertionResults
    .filter(({ status }) => status === 'failed')
    .map(({ ancestorTitles, title, failureMessages }) => {
      const name = [...ancestorTitles, title].join(' > ')
      const reason = failureMessages[0]?.split('\n')[0] ?? 'no reason was reported'
      return { title: `${path} > ${name}`, reason, command: commandFor(path, name) }
    })
}

/** Vitest reads the name as a regular expression, and the shell reads the quotes. */
function commandFor(path: string, name?: string): string {
  const command = `npx vitest run ${path}`
  if (name === undefined) return command
  const pattern = `^${name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`
  return `${command} -t '${pattern.replaceAll("'", `'\\''`)}'`
}
