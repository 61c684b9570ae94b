import assert from 'node:assert/strict'
import { type LeaseStore, systemClock } from 'holdfast'
import { createLockManager } from 'holdfast/locks'
import { unique } from './backend.ts'

/** The lock manager, as docs/locks.md uses it. */
export async function locksCase(open: () => LeaseStore | Promise<LeaseStore>): Promise<void> {
  await using store = await open()
  const name = (lock: string) => `${unique}:lock:${lock}`
  await using locks = createLockManager(store)
  const held = await locks.request(name('a'), async (lock) => {
    await locks.request(name('a'), { ifAvailable: true }, (other) => assert.equal(other, null))
    const { held } = await locks.query()
    return held.find((one) => one.name === lock?.name)
  })
  assert.equal(held?.mode, 'exclusive')

  await using others = createLockManager(store, {
    ...{ owner: `${unique}:other`, ttl: '1m', heartbeat: '10s', retry: () => 100 },
    ...{
      callTimeout: '30s',
      closeTimeout: '10s',
      endsWithProcess: false,
      clock: systemClock,
      onEvent: () => {},
    },
  })
  const { signal } = new AbortController()
  const mode = await others.request(name('b'), { mode: 'shared', signal }, (lock) => lock?.mode)
  assert.equal(mode, 'shared')
  assert.equal(await others.request(name('c'), { steal: true }, (lock) => lock?.name), name('c'))
  await others.close()
}
