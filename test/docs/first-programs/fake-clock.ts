import { createLeases, LeaseError } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { FakeClock } from 'holdfast/testing'
import { expect, test } from 'vitest'

test('the next caller gets the lease of a holder that died', async () => {
  const clock = new FakeClock()
  const store = memoryStore({ clock })
  const dead = createLeases(store, { clock, owner: 'dead' })
  const living = createLeases(store, { clock, owner: 'living' })

  const lost = await dead.acquire('report', { ttl: '30s', heartbeat: false })
  const waiting = living.acquire('report', { wait: '1m' })
  await clock.advance('31s')
  const lease = await waiting

  expect(lost.signal.aborted).toBe(true)
  expect(LeaseError.is(lost.signal.reason, 'lease-lost')).toBe(true)
  expect(lease.token).toBeGreaterThan(lost.token)
  await living.close()
})

test('a wait ends', async () => {
  const clock = new FakeClock()
  const leases = createLeases(memoryStore({ clock }), { clock })
  await leases.acquire('report')
  const waiting = leases.acquire('report', { wait: '10s' }).catch((error: unknown) => error)
  await clock.advance('10s')
  expect(LeaseError.is(await waiting, 'lease-held')).toBe(true)
})
