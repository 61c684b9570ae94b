import { describe, expect, it } from 'vitest'
import { scripts } from '../locks/web-locks.ts'
import type { RealmName, scenarios } from './pages/locks.ts'
import { runScenario } from './run-scenario.ts'
import { servePage } from './served-page.ts'

const realms: readonly RealmName[] = ['browser', 'memory', 'Web Locks']

/** In these, Chromium departs from the specification. */
const CHROMIUM_FAILS = [
  // It shows halves of surrogate pairs as U+FFFD.
  'query() reports the names as they were requested',
  // They stay blocked until another lock of that name is released.
  'Abort of a waiting exclusive request lets the shared ones behind it pass',
]

// If the tests are right, the lock manager of the browser passes them too.
describe.each(realms)('web locks in a page of Chromium, on %s', (realm) => {
  const served = servePage('locks.ts')

  it.each(scripts)('$file', async ({ source }) => {
    const page = await served.open()
    const known = realm === 'browser' ? CHROMIUM_FAILS : []
    const run = runScenario<typeof scenarios, 'webPlatformTests'>
    const { failed, count } = await run(page, 'webPlatformTests', source, realm, known)
    expect(failed).toEqual({})
    expect(count).toBeGreaterThan(0)
    await page.close()
  })
})
