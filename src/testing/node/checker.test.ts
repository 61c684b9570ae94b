import { describe, expect, it } from 'vitest'
import { holdsOf, violations, waitsOf } from './checker.ts'
import type { Observation } from './observation.ts'

const asks = (at: number, worker: string): Observation => ({ at, worker, resource: 'r' })
const holds = (at: number, worker: string, token: number): Observation => ({
  at,
  worker,
  resource: 'r',
  token,
})
const judge = (log: readonly Observation[], killed: readonly string[] = []) =>
  violations(log, { longestWaitMs: 1, killed: new Set(killed) })

const GOOD = [
  asks(0, 'a'),
  holds(10, 'a', 1),
  asks(15, 'b'),
  holds(20, 'a', 1),
  holds(30, 'b', 2),
  holds(40, 'b', 2),
  asks(45, 'a'),
  holds(50, 'a', 4),
]

describe('the checker', () => {
  it('the checker finds nothing in a good log, in whatever order it was written', () => {
    expect(judge(GOOD)).toEqual([])
    expect(judge(GOOD.toReversed())).toEqual([])
  })

  it('the checker joins what one worker saw of one token to a hold', () => {
    expect(holdsOf(GOOD)).toEqual([
      { resource: 'r', token: 1, worker: 'a', from: 10, to: 20 },
      { resource: 'r', token: 2, worker: 'b', from: 30, to: 40 },
      { resource: 'r', token: 4, worker: 'a', from: 50, to: 50 },
    ])
  })

  it('the checker counts a wait without an end up to the last observation, but not that of a killed worker', () => {
    const log = [asks(1000, 'a'), holds(3000, 'a', 1), asks(4000, 'b'), asks(5000, 'c'), holds(9000, 'a', 1)]
    expect(waitsOf(log, new Set(['c']))).toEqual([
      { worker: 'a', resource: 'r', ms: 2 },
      { worker: 'b', resource: 'r', ms: 5 },
    ])
  })

  it('the checker finds more holders than may share', () => {
    const shares = (at: number, worker: string, token: number, share: number) => ({
      ...holds(at, worker, token),
      share,
    })
    const two = [shares(10, 'a', 1, 2), shares(40, 'a', 1, 2), shares(20, 'b', 2, 2), shares(30, 'b', 2, 2)]
    expect(judge(two)).toEqual([])
    expect(judge([...two, shares(25, 'c', 3, 5)])).toEqual([
      expect.stringMatching(/^c's hold .* began 5 µs before/),
    ])
    expect(judge([...two, shares(35, 'c', 3, 5)])).toEqual([])
    expect(judge([...two, holds(35, 'c', 3)])).toEqual([
      expect.stringMatching(/^c's hold .* began 5 µs before/),
    ])
  })

  it('the checker finds two holders at a time', () => {
    expect(judge([...GOOD, holds(35, 'c', 3)])).toEqual([
      `c's hold of r with token 3 began 5 µs before the end of b's hold of r with token 2`,
    ])
  })

  it('the checker finds an overlap with a hold that began before the last one', () => {
    expect(judge([holds(10, 'a', 1), holds(20, 'b', 2), holds(30, 'c', 3), holds(40, 'a', 1)])).toHaveLength(
      2,
    )
  })

  it('the checker finds a token that falls', () => {
    expect(judge([holds(10, 'a', 5), holds(20, 'b', 4), holds(30, 'c', 6)])).toEqual([
      `b's hold of r with token 4 came after a's hold of r with token 5`,
    ])
  })

  it('the checker finds a token that two were given', () => {
    expect(judge([holds(10, 'a', 5), holds(20, 'b', 5)])).toContain('token 5 of r was given to a and b')
  })

  it('the checker keeps resources apart', () => {
    expect(judge([holds(10, 'a', 5), { ...holds(10, 'b', 5), resource: 's' }, holds(20, 'a', 5)])).toEqual([])
  })

  it('the checker finds a wait that was too long, and one that never ended', () => {
    const late = [asks(0, 'a'), asks(0, 'b'), holds(1500, 'a', 1)]
    expect(judge(late)).toEqual(['a waited 2 ms for r', 'b waited 2 ms for r'])
    expect(judge(late, ['b'])).toEqual(['a waited 2 ms for r'])
  })

  describe('of a store with a queue', () => {
    const queues = (at: number, worker: string, place: number | null = 0) => ({ ...asks(at, worker), place })
    const inOrder = (log: readonly Observation[], killed: readonly string[] = []) =>
      violations(log, { longestWaitMs: 1000, killed: new Set(killed), queueWithinMs: 1 })
    /** `b` knows its place before `c` asks, and `c` is served first. */
    const PASSED = [holds(10, 'a', 1), asks(11, 'b'), queues(20, 'b'), asks(30, 'c'), holds(40, 'c', 2)]

    it('the checker of a store with a queue finds a waiter that was passed', () => {
      expect(inOrder([...PASSED, holds(50, 'b', 3)])).toEqual([
        'c was granted r with token 2 before b, which waited in the queue 10 µs before c asked',
      ])
      expect(judge(PASSED)).toEqual([])
    })

    it('the checker of a store with a queue blames nobody who may have been first', () => {
      const before = [holds(10, 'a', 1), asks(11, 'b'), asks(15, 'c'), queues(20, 'b'), holds(40, 'c', 2)]
      expect(inOrder(before)).toEqual([])
    })

    it('knows that a waiter which is killed, gives up or is late loses its place', () => {
      expect(inOrder(PASSED, ['b'])).toEqual([])
      expect(inOrder([...PASSED, queues(35, 'b', null)])).toEqual([])
      const late = [holds(10, 'a', 1), asks(11, 'b'), queues(20, 'b'), asks(30, 'c'), holds(1500, 'c', 2)]
      expect(inOrder(late)).toEqual([])
      expect(inOrder([...late, asks(1510, 'd'), holds(1520, 'd', 3)])).toEqual([])
      expect(inOrder([...late, queues(1505, 'b'), asks(1510, 'd'), holds(1520, 'd', 3)])).toHaveLength(1)
    })
  })
})
