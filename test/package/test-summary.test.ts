import { describe, expect, it } from 'vitest'
import { lastLine, type Report, summarize } from '../../scripts/test-summary.ts'

const projects = [
  { name: 'unit', include: ['src/**/*.test.ts'] },
  { name: 'stores', include: ['test/stores/**/*.test.ts'] },
]
const file = (name: string, status: string, tests: readonly string[]) => ({
  name: `/repo/${name}`,
  status,
  assertionResults: tests.map((test) => ({ status: test })),
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
  it('counts tests', () => {
    const unit = file('src/core/a.test.ts', 'failed', ['passed', 'passed', 'failed'])
    const stores = file('test/stores/b.test.ts', 'passed', ['passed', 'pending', 'todo'])
    expect(lineOf([unit, stores])).toBe('3 passed, 1 failed, 2 skipped')
  })

  it('counts a file that could not be run as a failure', () => {
    const unit = file('src/core/a.test.ts', 'failed', [])
    const other = file('src/b.test.ts', 'passed', ['passed'])
    const stores = file('test/stores/b.test.ts', 'passed', ['passed'])
    expect(lineOf([unit, other, stores])).toBe('2 passed, 1 failed')
  })

  it('counts a project without tests as a failure', () => {
    expect(lineOf([file('src/a.test.ts', 'passed', ['passed'])])).toBe('1 passed, 1 failed')
  })
})
