import { expect, it } from 'vitest'
import { LeaseError } from '../base/errors.ts'
import { FakeClock } from '../testing/index.ts'
import { type DependencyFailure, sharedCheck } from './readiness.ts'

it('frequent probes share one successful check, and each looks again after a failure', async () => {
  const clock = new FakeClock()
  const failure: DependencyFailure = { name: 'leases', error: new LeaseError('store-unavailable', 'full') }
  let failures: readonly DependencyFailure[] = []
  let checks = 0
  const failuresNow = sharedCheck(async () => {
    checks++
    return failures
  }, clock)
  await Promise.all([failuresNow(), failuresNow()])
  await failuresNow()
  expect(checks).toBe(1)

  failures = [failure]
  await clock.advance(2000)
  expect(await failuresNow()).toEqual([failure])
  expect(await failuresNow()).toEqual([failure])
  expect(checks).toBe(3)
  failures = []
  expect(await failuresNow()).toEqual([])
  expect(checks).toBe(4)
})
