import { describe, expect, it } from 'vitest'
import { failureLines, lastLine, type Report, summarize } from '../../scripts/test-summary.ts'

const projects = [
  { name: 'unit', include: ['src/**/*.test.ts'] },
  { name: 'stores', include: ['test/stores/**/*.test.ts'] },
]
const file = (name: string, status: string, tests: readonly string[]) => ({
  name: `/repo/${name}`,
  status,
  assertionResults: tests.map((test, n) => ({
    status: test,
    ancestorTitles: ["it's a group"],
    title: `test ${n} (of 3)`,
    failureMessages: test === 'failed' ? ['Error: expected 1 to be 2\n    at a line'] : [],
  })),
})
const report = (testResults: Report['testResults']): Report => {
  const tests = testResults.flatMap((one) => one.assertionResults)
  const count = (status: string) => tests.filter((test) => test.status === status).length
  return {
    numPassedTests: count('passed'),
    numFailedTests: count('failed'),
    numPendingTests: count('pending'),
    numTodoTests: count('todo'),
    testResults,
  }
}
const lineOf = (testResults: Report['testResults']) =>
  lastLine(summarize(report(testResults), projects, '/repo'))

describe('the last line of npm test', () => {
  it('the last line of npm test counts tests', () => {
    const unit = file('src/core/a.test.ts', 'failed', ['passed', 'passed', 'failed'])
    const stores = file('test/stores/b.test.ts', 'passed', ['passed', 'pending', 'todo'])
    expect(lineOf([unit, stores])).toBe('3 passed, 1 failed, 2 skipped')
  })

  it('the last line of npm test counts a file that could not be run as a failure', () => {
    const unit = file('src/core/a.test.ts', 'failed', [])
    const other = file('src/b.test.ts', 'passed', ['passed'])
    const stores = file('test/stores/b.test.ts', 'passed', ['passed'])
    expect(lineOf([unit, other, stores])).toBe('2 passed, 1 failed')
  })

  it('the last line of npm test counts a project without tests as a failure', () => {
    expect(lineOf([file('src/a.test.ts', 'passed', ['passed'])])).toBe('1 passed, 1 failed')
  })
})

describe('the end of npm test', () => {
  const linesOf = (testResults: Report['testResults']) =>
    failureLines(summarize(report(testResults), projects, '/repo'))
  const stores = file('test/stores/b.test.ts', 'passed', ['passed'])

  it('the end of npm test says nothing when all tests passed', () => {
    expect(linesOf([file('src/a.test.ts', 'passed', ['passed']), stores])).toEqual([])
  })

  it('the end of npm test names each failed test, its error and the command that runs it alone', () => {
    expect(linesOf([file('src/a.test.ts', 'failed', ['passed', 'failed']), stores])).toEqual([
      'Failed tests, each with the command that runs it alone:',
      '',
      "✗ src/a.test.ts > it's a group > test 1 (of 3)",
      '  Error: expected 1 to be 2',
      `  npx vitest run src/a.test.ts -t '^it'\\''s a group > test 1 \\(of 3\\)$'`,
      '',
    ])
  })

  it('the end of npm test names a file that could not be run, with its command', () => {
    expect(linesOf([file('src/a.test.ts', 'failed', []), stores])).toEqual([
      'src/a.test.ts could not be run: npx vitest run src/a.test.ts',
      'project unit has no tests',
    ])
  })
})
