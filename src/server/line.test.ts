import { beforeEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../testing/index.ts'
import { memoryBus } from './buses/memory.ts'
import { Line } from './line.ts'

const AOI = { session_id: 'aoi', client_id: 'tab-1' }
const REN = { session_id: 'ren' }

let clock: FakeClock
let here: Line
let there: Line
beforeEach(async () => {
  clock = new FakeClock()
  const bus = memoryBus()
  const openLine = async () => {
    const line = new Line({ bus, clock, keepFor: 60_000, onChange: () => {}, onError: () => {} })
    await bus.subscribe((message) => line.hear(message))
    return line
  }
  here = await openLine()
  there = await openLine()
})

describe('a line at several nodes', () => {
  it('keeps the time and the place of a tab that moves to another node', async () => {
    const start = clock.now()
    here.join('room', 'a', AOI)
    await clock.advance(10)
    here.join('room', 'r', REN)
    await clock.advance(25_000)
    there.join('room', 'a', AOI)
    here.leave('room', 'a')
    await clock.advance(0)
    expect(there.since('room', 'a')).toBe(start)
    for (const line of [here, there]) expect(line.of('room')).toEqual([AOI, REN])
    there.leave('room', 'a')
    expect(there.since('room', 'a')).toBeUndefined()
  })
})
