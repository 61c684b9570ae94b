import { describe, expect, it } from 'vitest'
import {
  ask,
  askAgainIn,
  Effects,
  expire,
  isForgettable,
  type LeaseRow,
  liveRecords,
  newRow,
  release,
  renew,
  waitingIn,
} from './lease-row.ts'

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

/** What a waiter is told while `work` runs. */
function told(work: (effects: Effects) => unknown) {
  const effects = new Effects()
  work(effects)
  return Object.fromEntries(effects.wakes)
}

it('a waiter that leaves wakes the next one, which may ask sooner than it was told', () => {
  row = newRow('r', 0)
  acquire('holder', START_MS)
  acquire('first', START_MS)
  acquire('second', START_MS)
  expect(told((effects) => release(row, { id: 'first' }, START_MS + 400, effects))).toEqual({ second: 600 })
  expect([...row.queue.keys()]).toEqual(['second'])
})

it('a waiter that leaves from behind wakes nobody', () => {
  row = newRow('r', 0)
  for (const id of ['holder', 'first', 'second']) acquire(id, START_MS)
  expect(told((effects) => release(row, { id: 'second' }, START_MS + 400, effects))).toEqual({})
})

it('a release that keeps the resource tells the first waiter when it ends', () => {
  row = newRow('r', 0)
  acquire('holder', START_MS, { ttl: 5000, atLeast: 2000 })
  acquire('waiter', START_MS)
  expect(told((effects) => release(row, { id: 'holder' }, START_MS + 500, effects))).toEqual({ waiter: 1500 })
})

it('a forced release leaves the places of waiters, also of one with the id of the lease', () => {
  row = newRow('r', 0)
  const holder = acquire('holder', START_MS)
  acquire('waiter', START_MS)
  const token = holder.granted ? holder.lease.token : 0
  expect(told((effects) => release(row, { token }, START_MS + 1, effects))).toEqual({ waiter: 0 })
  expect([...row.queue.keys()]).toEqual(['waiter'])
  expect(row.reserved.has('waiter')).toBe(true)
})

it('a release says how the lease ended', () => {
  row = newRow('r', 0)
  acquire('holder', START_MS)
  const late = release(row, { id: 'holder' }, START_MS + 1000, new Effects())
  expect(late).toMatchObject({ ended: { state: 'expired' }, holders: [] })
  acquire('next', START_MS + 1000)
  const inTime = release(row, { id: 'next' }, START_MS + 1999, new Effects())
  expect(inTime).toMatchObject({ ended: { state: 'released' }, holders: [] })
  expect(release(row, { id: 'next' }, START_MS + 1999, new Effects())).toEqual({ ended: null, holders: [] })
})

describe('a row is forgotten', () => {
  const HOUR_MS = 3_600_000

  it('a row is forgotten an hour after its end, and not before', () => {
    row = newRow('r', 0)
    acquire('holder', START_MS)
    release(row, { id: 'holder' }, START_MS + 500, new Effects())
    expect(isForgettable(row, START_MS + 500 + HOUR_MS - 1)).toBe(false)
    expect(isForgettable(row, START_MS + 500 + HOUR_MS)).toBe(true)
  })

  it('a row is not forgotten while it has a lease that nobody has ended, a waiter, or a resource that is kept', () => {
    const late = START_MS + 2 * HOUR_MS
    row = newRow('r', 0)
    acquire('holder', START_MS)
    expect(isForgettable(row, late)).toBe(false)
    row = newRow('r', 0)
    acquire('holder', START_MS, { ttl: 3 * HOUR_MS, atLeast: 3 * HOUR_MS })
    release(row, { id: 'holder' }, START_MS + 1, new Effects())
    expect(isForgettable(row, late)).toBe(false)
    expect(isForgettable(row, START_MS + 3 * HOUR_MS)).toBe(true)
    row = newRow('r', 0)
    acquire('holder', START_MS)
    acquire('waiter', START_MS)
    release(row, { id: 'holder' }, START_MS + 1, new Effects())
    expect(isForgettable(row, late)).toBe(false)
  })
})

it('a waiter that goes on at another process keeps its place, and belongs to that one', () => {
  row = newRow('r', 0)
  acquire('holder', START_MS)
  const waiting = (channel: string) =>
    ask(
      row,
      { resource: 'r', id: 'waiter', owner: 'Ren', ttl: 1000, share: 3 },
      channel,
      START_MS,
      new Effects(),
    )
  waiting('first')
  acquire('behind', START_MS)
  expect(waiting('second')).toMatchObject({ granted: false, place: 0 })
  expect(row.queue.get('waiter')).toEqual({ id: 'waiter', channel: 'second', owner: 'Ren', share: 3 })
})

it('a lease ends with the process that holds it, and after a renewal with the one that renewed', () => {
  row = newRow('r', 0)
  acquire('holder', START_MS, { process: 'p1', lockDelay: 10, atLeast: 5 })
  expect(row.leases).toMatchObject([{ process: 'p1', lockDelay: 10, atLeast: 5 }])
  renew(row, { id: 'holder', ttl: 1000, process: null }, START_MS + 1, new Effects())
  expect(row.leases).toMatchObject([{ process: null }])
  renew(row, { id: 'holder', ttl: 1000 }, START_MS + 2, new Effects())
  expect(row.leases).toMatchObject([{ process: null }])
})

describe('expired leases', () => {
  it('expired leases are ended as many as asked for, or those that are named', () => {
    row = newRow('r', 0)
    const tokens = ['a', 'b', 'c'].map((id) => {
      const answer = acquire(id, START_MS, { share: 5 })
      return answer.granted ? answer.lease.token : 0
    })
    acquire('live', START_MS, { share: 5, ttl: 9000 })
    const later = START_MS + 2000
    expect(expire(row, later, new Effects(), 1)).toMatchObject([{ id: 'a', state: 'expired' }])
    expect(expire(row, later, new Effects(), Infinity, [tokens[2] ?? 0])).toMatchObject([{ id: 'c' }])
    expect(expire(row, later, new Effects())).toMatchObject([{ id: 'b' }])
    expect(expire(row, later, new Effects())).toEqual([])
    expect(liveRecords(row, later)).toMatchObject([{ id: 'live' }])
  })
})

describe('when to ask again', () => {
  it.each<[number[], number | null, number, number]>([
    [[100, 300], null, 0, 300],
    [[300, 100], null, 2, 2300],
    [[300, 100], 5, 0, 100],
    [[300, 100], 5, 1, 300],
    [[300, 100], 5, 2, 1300],
    [[300, 100], 5, 3, 2300],
    [[], 5, 0, 0],
    [[], 5, 2, 2000],
  ])(
    'after the ends %j, with the share %s and %d before it, a waiter asks in %d ms',
    (ends, share, place, inMs) => {
      expect(askAgainIn(ends, share, place)).toBe(inMs)
    },
  )
})

it('the first waiters are shown with their places, and all of them are counted', () => {
  const waiters = ['a', 'b', 'c'].map((id) => ({ id, owner: `owner of ${id}`, share: 2 }))
  expect(waitingIn([...waiters, { id: 'old' }], 2)).toEqual({
    count: 4,
    first: [
      { id: 'a', owner: 'owner of a', share: 2, place: 0 },
      { id: 'b', owner: 'owner of b', share: 2, place: 1 },
    ],
  })
  expect(waitingIn([{ id: 'old' }], 2).first).toEqual([{ id: 'old', owner: '', share: null, place: 0 }])
})

it('a waiter that misses its turn costs all of its process their places, and tells them', () => {
  row = newRow('r', 0)
  acquire('holder', START_MS)
  for (const [id, channel] of [
    ['first', 'dead'],
    ['second', 'alive'],
    ['third', 'dead'],
  ] as const)
    ask(row, { resource: 'r', id, owner: 'Ren', ttl: 1000 }, channel, START_MS, new Effects())
  release(row, { id: 'holder' }, START_MS + 1, new Effects())
  expect([...row.reserved.keys()]).toEqual(['first'])
  const wakes = told((effects) => expire(row, START_MS + 1001, effects))
  expect(wakes).toEqual({ first: 0, second: 0, third: 0 })
  expect([...row.queue.keys()]).toEqual(['second'])
  expect([...row.reserved.keys()]).toEqual(['second'])
})

it('a takeover is granted in place of the only lease, and not beside others', () => {
  row = newRow('r', 0)
  const [first, second] = ['a', 'b'].map((id) => acquire(id, START_MS, { share: 5 }))
  const replace = first?.granted && first.lease.token
  expect(acquire('c', START_MS + 1, { replace })).toMatchObject({ granted: false })
  release(row, { token: (second?.granted && second.lease.token) || 0 }, START_MS + 2, new Effects())
  const taken = acquire('c', START_MS + 2, { replace })
  expect(taken).toMatchObject({ granted: true, replaced: { id: 'a', state: 'taken-over' } })
})

it('a refusal says for how long the resource is kept, if it is', () => {
  row = newRow('r', 0)
  acquire('live', START_MS, { share: 2 })
  expect(acquire('writer', START_MS)).not.toHaveProperty('keptFor')
  row = newRow('r', 0)
  for (const [id, atLeast] of Object.entries({ a: 3000, b: 5000, c: 4000 }))
    acquire(id, START_MS, { share: 9, atLeast })
  acquire('live', START_MS, { share: 9, ttl: 60_000 })
  for (const id of ['a', 'b', 'c']) release(row, { id }, START_MS + 1, new Effects())
  expect(acquire('writer', START_MS + 1000)).toMatchObject({ granted: false, keptFor: 4000 })
})

it('a place counts the waiters that are not in the row', () => {
  row = newRow('r', 0)
  acquire('holder', START_MS)
  const request = { resource: 'r', id: 'waiter', owner: 'Ren', ttl: 1000 }
  expect(ask(row, request, 'c', START_MS, new Effects(), 3)).toMatchObject({ place: 3 })
})

it('a row is not forgotten while a clock could produce its token again', () => {
  row = newRow('r', (START_MS + 5000) * 1000)
  acquire('holder', START_MS)
  release(row, { id: 'holder' }, START_MS + 1, new Effects())
  expect(isForgettable(row, START_MS + 3_600_001)).toBe(false)
  expect(isForgettable(row, START_MS + 3_606_000)).toBe(true)
})

it('a clock that steps back after a renewal lengthens the lease by no more than its TTL', () => {
  row = newRow('r', 0)
  acquire('holder', START_MS)
  renew(row, { id: 'holder', ttl: 1000 }, START_MS + 500, new Effects())
  expect(liveRecords(row, START_MS - 9000)).toMatchObject([{ remaining: 1000 }])
})

it('a lease that kept the resource is gone from the row when that is over, and no earlier', () => {
  row = newRow('r', 0)
  acquire('holder', START_MS, { atLeast: 2000 })
  acquire('other', START_MS, { atLeast: 2000 })
  release(row, { id: 'holder' }, START_MS + 1, new Effects())
  expire(row, START_MS + 1999, new Effects())
  expect(row.leases).toMatchObject([{ id: 'holder' }])
  expire(row, START_MS + 2000, new Effects())
  expect(row.leases).toEqual([])
})
