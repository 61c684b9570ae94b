import { beforeEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../testing/index.ts'
import { memoryBus } from './buses/memory.ts'
import { RoomQueues } from './room-queues.ts'

const AOI = { session_id: 'aoi', client_id: 'tab-1' }
const REN = { session_id: 'ren' }

let clock: FakeClock
let here: RoomQueues
let there: RoomQueues
const changes: unknown[] = []
let moved: unknown[]
beforeEach(async () => {
  clock = new FakeClock()
  moved = []
  const bus = memoryBus()
  const openList = async () => {
    const list: RoomQueues = new RoomQueues({
      bus,
      clock,
      onChange: (event) => changes.push(event),
      onMoved: (...who) => moved.push([list, ...who]),
      onError: () => {},
    })
    await bus.subscribe((message) => list.receive(message))
    return list
  }
  here = await openList()
  there = await openList()
})

describe('the queue of several nodes', () => {
  it('the queue of several nodes keeps the time and the place of a client that moves to another node', async () => {
    const start = clock.now()
    here.join('room', 'a', AOI)
    await clock.advance(10)
    here.join('room', 'r', REN)
    await clock.advance(25_000)
    there.join('room', 'a', AOI)
    here.leave('room', 'a')
    await clock.advance(0)
    expect(there.since('room', 'a')).toBe(start)
    await clock.advance(500)
    for (const list of [here, there]) expect(list.of('room')).toEqual({ first: [AOI, REN], count: 2 })
    there.leave('room', 'a')
    expect(there.since('room', 'a')).toBeUndefined()
  })

  it('the queue of several nodes tells the node where a client waited that it has come to another one', async () => {
    here.join('room', 'a', AOI)
    here.join('room', 'r', REN)
    await clock.advance(1000)
    expect(moved).toEqual([])
    there.join('room', 'a', AOI)
    there.join('other room', 'r', REN)
    await clock.advance(0)
    expect(moved).toEqual([[here, 'room', 'a']])
  })

  it('the queue of several nodes shows a waiter as long as it asks again, though other messages were lost', async () => {
    here.join('room', 'a', AOI)
    for (let asked = 0; asked < 20; asked++) {
      await clock.advance(5000)
      here.join('room', 'a', AOI)
    }
    expect(there.of('room')).toEqual({ first: [AOI], count: 1 })
  })

  it('the queue of several nodes is sent in batches that do not grow with the number of waiters', async () => {
    const before = changes.length
    for (let n = 0; n < 1000; n++) {
      here.join('room', `id-${n}`, { session_id: `session-${n}` })
      await clock.advance(2)
    }
    await clock.advance(500)
    const sent = changes.slice(before)
    expect(there.of('room')).toMatchObject({ count: 1000, first: { length: 20 } })
    expect(there.of('room').first[0]).toEqual({ session_id: 'session-0' })
    // Four times six messages in two seconds, and two lists that report each.
    expect(sent.length).toBeLessThanOrEqual(2 * 6 * 5)
    expect(JSON.stringify(sent).length).toBeLessThan(60_000)
  })

  it('the queue of several nodes is sent in batches also if one client comes and goes', async () => {
    const before = changes.length
    for (let n = 0; n < 500; n++) {
      here.join('room', 'a', AOI)
      here.leave('room', 'a')
      await clock.advance(1)
    }
    expect(changes.length - before).toBeLessThanOrEqual(2 * 6 * 2)
  })

  it('the queue of several nodes forgets the waiters of a node that is silent', async () => {
    there.join('room', 'a', AOI)
    await clock.advance(39_000)
    expect(here.of('room').first).toEqual([AOI])
    await clock.advance(1000)
    expect(here.of('room')).toEqual({ first: [], count: 0 })
  })
})
