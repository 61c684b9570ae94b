/**
 * `npm run wpt -- ../wpt` runs the web platform tests of Web Locks on the lock managers of every store. The folder is a
 * checkout of https://github.com/web-platform-tests/wpt, or its folder `web-locks`; without one, the tests in `cases`
 * run. `--stores memory,redis` chooses stores. Tests that need a browser are left out. Exits 1 if a test fails that is
 * not in `known-differences.ts`.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { KNOWN_DIFFERENCES } from './known-differences.ts'
import { WPT_STORES } from './wpt-stores.ts'
import { runSuite, scriptsIn } from './wpt-suite.ts'

const { values, positionals } = parseArgs({ allowPositionals: true, options: { stores: { type: 'string' } } })
const stores = values.stores?.split(',') ?? Object.keys(WPT_STORES)
const unknown = stores.find((store) => !WPT_STORES[store])
if (unknown !== undefined) {
  console.error(
    `--stores: expected some of ${Object.keys(WPT_STORES).join(',')}, got ${JSON.stringify(unknown)}`,
  )
  process.exit(2)
}
const scripts = scriptsIn(positionals[0] ?? join(import.meta.dirname, 'cases'))

// Some tests leave requests behind, which reject when their manager is closed.
process.on('unhandledRejection', () => {})

let hasFailed = false
for (const name of stores) {
  await using store = await (WPT_STORES[name] as (typeof WPT_STORES)[string])()
  const { passed, failed, known, mended, notRun } = await runSuite(
    scripts,
    store.open,
    KNOWN_DIFFERENCES[name],
  )
  hasFailed ||= failed.length > 0
  console.log(
    `\n${name}: ${passed} passed, ${failed.length} failed, ${known.length} known differences, ${notRun.length} not run`,
  )
  for (const failure of failed) console.log(`  failed: ${failure}`)
  for (const difference of known) console.log(`  known: ${difference}`)
  for (const test of mended) console.log(`  passes now: ${test}`)
  for (const reason of notRun) console.log(`  not run: ${reason}`)
}
process.exit(hasFailed ? 1 : 0)
