/** Runs the scripts of a folder of web platform tests on a lock manager. */
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { LockManager } from '../../src/locks/index.ts'
import { casesOf, type WebPlatformCase } from './harness.ts'
import type { KnownDifferences } from './known-differences.ts'
import type { OpenRealm } from './web-locks.ts'

export interface SuiteReport {
  passed: number
  /** Each with what went wrong. */
  readonly failed: string[]
  /** Failures that are known, each with the reason. */
  readonly known: string[]
  /** Tests that were known to fail, and pass. */
  readonly mended: string[]
  /** Scripts and tests that need what is not here, such as a frame. */
  readonly notRun: string[]
}

/** Only what hangs takes longer. */
const TEST_LIMIT_MS = 60_000

/** `folder`: a checkout of https://github.com/web-platform-tests/wpt, or its folder `web-locks`. */
export function scriptsIn(folder: string): string[] {
  for (const place of [join(folder, 'web-locks'), folder]) {
    const scripts = globSync('*.{any.js,window.js,html}', { cwd: place }).toSorted()
    if (scripts.length > 0) return scripts.map((script) => join(place, script))
  }
  throw new Error(`${folder}: expected web platform tests, such as web-locks/held.https.any.js, found none`)
}

export async function runSuite(
  scripts: readonly string[],
  open: OpenRealm,
  known: KnownDifferences = {},
): Promise<SuiteReport> {
  const report: SuiteReport = { passed: 0, failed: [], known: [], mended: [], notRun: [] }
  for (const script of scripts) await runScript(script, open, known, report)
  return report
}

async function runScript(
  script: string,
  open: OpenRealm,
  known: KnownDifferences,
  report: SuiteReport,
): Promise<void> {
  const file = basename(script).replace(/(\.https)?\.any\.js$/, '')
  if (!script.endsWith('.any.js')) return void report.notRun.push(`${file}: needs a browser`)
  const source = readFileSync(script, 'utf8')
  const missing = missingIn(source)
  if (missing) return void report.notRun.push(`${file}: ${missing}`)
  const realm = await open()
  try {
    for (const test of casesOf(source, realm)) {
      const name = `${file}: ${test.title}`
      const outcome = await outcomeOf(test)
      if (outcome === 'passed') {
        report.passed++
        if (known[name]) report.mended.push(name)
      } else if (outcome instanceof ReferenceError) report.notRun.push(`${name}: ${outcome.message}`)
      else if (outcome === 'needs several clients') report.notRun.push(`${name}: ${outcome}`)
      else if (known[name]) report.known.push(`${name}: ${known[name]}`)
      else report.failed.push(`${name}: ${outcome.message}`)
    }
  } finally {
    await realm.close?.()
  }
}

/** A script that uses what only a browser or the whole framework has fails when it is loaded. */
function missingIn(source: string): string | undefined {
  try {
    casesOf(source, { locks: {} as LockManager })
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

async function outcomeOf(test: WebPlatformCase): Promise<'passed' | 'needs several clients' | Error> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<Error>((resolve) => {
    timer = setTimeout(() => resolve(new Error(`no end within ${TEST_LIMIT_MS} ms`)), TEST_LIMIT_MS)
  })
  const run = test.run().then(
    (hasRun) => (hasRun ? ('passed' as const) : ('needs several clients' as const)),
    (error) => (error instanceof Error ? error : new Error(String(error))),
  )
  return Promise.race([run, late]).finally(() => clearTimeout(timer))
}
