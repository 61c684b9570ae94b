import { beforeEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../testing/index.ts'
import { memoryBus } from './buses/memory.ts'
import { WaitingList } from './waiting-list.ts'

const AOI = { session_id: 'aoi', client_id: 'tab-1' }
const REN = { session_id: 'ren' }

let clock: FakeClock
let here: WaitingList
let there: WaitingList
beforeEach(async () => {
  clock = new FakeClock()
  const bus = memoryBus()
  const openList = async () => {
    const list = new WaitingList({ bus, clock, keepFor: 60_000, onChange: () => {}, onError: () => {} })
    await bus.subscribe((message) => list.receive(message))
    return list
  }
  here = await openList()
  there = await openList()
})

describe('the waiting list of several nodes', () => {
  it('keeps the time and the place of a client that moves to another node', async () => {
    const start = clock.now()
    here.join('room', 'a', AOI)
    await clock.advance(10)
    here.join('room', 'r', REN)
    await clock.advance(25_000)
    there.join('room', 'a', AOI)
    here.leave('room', 'a')
    await clock.advance(0)
    expect(there.since('room', 'a')).toBe(start)
    for (const list of [here, there]) expect(list.of('room')).toEqual([AOI, REN])
    there.leave('room', 'a')
    expect(there.since('room', 'a')).toBeUndefined()
  })

  it('forgets the waiters of a node that is silent', async () => {
    there.join('room', 'a', AOI)
    await clock.advance(59_000)
    expect(here.of('room')).toEqual([AOI])
    await clock.advance(1000)
    expect(here.of('room')).toEqual([])
  })
})
