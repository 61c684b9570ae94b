import { expect, it } from 'vitest'
import { ask, Effects, type LeaseRow, liveRecords, newRow, renew } from './lease-row.ts'

const START_MS = 1_800_000_000_000

let row: LeaseRow
const acquire = (id: string, now: number, extra: object = {}) =>
  ask(row, { resource: 'r', id, owner: 'Mika', ttl: 1000, ...extra }, id, now, new Effects())

it('a reservation is not used beside a lease that is live again, because the clock stepped back', () => {
  row = newRow('r', 0)
  acquire('holder', START_MS)
  acquire('waiter', START_MS)
  // The lease has expired, and the resource is reserved for the waiter.
  renew(row, { id: 'nobody', ttl: 1000 }, START_MS + 1001, new Effects())
  expect(row.reserved.has('waiter')).toBe(true)
  expect(renew(row, { id: 'holder', ttl: 1000 }, START_MS + 500, new Effects())).toMatchObject({ ok: true })
  expect(acquire('waiter', START_MS + 500)).toMatchObject({ granted: false, holders: [{ id: 'holder' }] })
})

it('a takeover leaves no reservation that does not fit beside it', () => {
  row = newRow('r', 0)
  const holder = acquire('holder', START_MS, { share: 2 })
  acquire('other', START_MS, { share: 2 })
  acquire('waiter', START_MS, { share: 2 })
  // The other lease has expired, and its share is reserved for the waiter.
  renew(row, { id: 'holder', ttl: 5000 }, START_MS + 500, new Effects())
  renew(row, { id: 'holder', ttl: 5000 }, START_MS + 1001, new Effects())
  expect(row.reserved.has('waiter')).toBe(true)
  const replace = holder.granted && holder.lease.token
  expect(acquire('successor', START_MS + 1001, { replace })).toMatchObject({ granted: true })
  expect(acquire('waiter', START_MS + 1001, { share: 2 })).toMatchObject({ granted: false })
  expect(liveRecords(row, START_MS + 1001)).toMatchObject([{ id: 'successor' }])
})

it('a steal by a shared lease wakes the waiters that fit beside it', () => {
  row = newRow('r', 0)
  acquire('holder', START_MS)
  acquire('waiter', START_MS, { share: 2 })
  const effects = new Effects()
  const request = { resource: 'r', id: 'thief', owner: 'Mika', ttl: 1000, share: 2, replace: 'any' } as const
  ask(row, request, null, START_MS, effects)
  expect([...effects.wakes]).toEqual([['waiter', 0]])
})
