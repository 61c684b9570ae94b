import fc from 'fast-check'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { checkProperty } from '../../../test/property.ts'
import { FakeClock, settled } from '../../testing/fake-clock.ts'
import type { Bus, BusMessage } from '../bus.ts'
import { memoryBus } from '../buses/memory.ts'
import { Presence } from './presence.ts'

const ROOM = 'presence-document.1'
let clock: FakeClock
let bus: Bus
beforeEach(() => {
  clock = new FakeClock()
  bus = memoryBus()
})

/** A node whose connection to the others can be cut, and the members that a socket on it knows from its events. */
async function startNode() {
  const connection = { sends: true, receives: true }
  const view = new Map<string, unknown>()
  const odd: unknown[] = []
  const own: Bus = {
    ...bus,
    publish: async (message) => (connection.sends ? bus.publish(message) : undefined),
  }
  const changes: string[] = []
  const waiting: BusMessage[] = []
  let lateMs = 0
  const late = new Proxy(clock, {
    get(target, name) {
      if (name === 'setTimer') return (run: () => void, ms: number) => target.setTimer(run, ms + lateMs)
      const value = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const presence = new Presence(own, late, (change) => {
    const { type, id, info } = change
    changes.push(`${type} ${id}`)
    if (view.has(id) === (type === 'added')) odd.push(change)
    if (type === 'added') view.set(id, info)
    else view.delete(id)
  })
  const subscription = await bus.subscribe((message) => {
    if (lateMs > 0) waiting.push(message)
    else if (connection.receives) presence.receive(message)
  })
  presence.start()
  await settled()
  return {
    presence,
    connection,
    view,
    odd,
    members: () => [...presence.members(ROOM).keys()].sort(),
    changes,
    /** From its next beat on, its timers are so late, and what arrives waits. */
    stand(ms: number) {
      lateMs = ms
    },
    goOn() {
      lateMs = 0
      for (const message of waiting.splice(0)) presence.receive(message)
    },
    /** Without a message to the others. */
    async die() {
      await subscription[Symbol.asyncDispose]()
      connection.sends = false
    },
  }
}

async function joined(node: Awaited<ReturnType<typeof startNode>>, ...ids: string[]) {
  for (const id of ids) node.presence.join(ROOM, id, { name: id })
  await settled()
}

describe('a member', () => {
  it('a member is seen on all nodes, once, until its last socket has left', async () => {
    const [a, b] = [await startNode(), await startNode()]
    await joined(a, 'ann', 'ann')
    await joined(b, 'ann', 'bob')
    for (const node of [a, b]) {
      expect(node.members()).toEqual(['ann', 'bob'])
      expect([...node.view]).toEqual([
        ['ann', { name: 'ann' }],
        ['bob', { name: 'bob' }],
      ])
    }
    for (const node of [a, b, a]) {
      expect(a.members()).toContain('ann')
      node.presence.leave(ROOM, 'ann')
      await settled()
    }
    for (const node of [a, b])
      expect([node.members(), [...node.view.keys()], node.odd]).toEqual([['bob'], ['bob'], []])
  })

  it('a member is known to a node that starts later, also if there are many members', async () => {
    const a = await startNode()
    await joined(a, ...Array.from({ length: 250 }, (_, n) => `user-${n}`))
    const b = await startNode()
    expect(b.members()).toHaveLength(250)
    expect(b.members()).toEqual(a.members())
  })

  it.each(['sends', 'receives'] as const)(
    'is known again after a node %s nothing for a while',
    async (fault) => {
      const [a, b] = [await startNode(), await startNode()]
      await joined(a, 'ann')
      const cut = fault === 'sends' ? a : b
      cut.connection[fault] = false
      await joined(a, 'bob')
      a.presence.leave(ROOM, 'ann')
      await settled()
      expect(b.members()).toEqual(['ann'])
      cut.connection[fault] = true
      await clock.advance(10_000)
      expect([b.members(), [...b.view.keys()]]).toEqual([['bob'], ['bob']])
    },
  )

  it('a member is gone at once when its node says goodbye, even if its sockets close later', async () => {
    const [a, b] = [await startNode(), await startNode()]
    await joined(a, 'ann')
    await a.presence.stop()
    const afterwards = vi.fn()
    await bus.subscribe(afterwards)
    a.presence.leave(ROOM, 'ann')
    await settled()
    expect([b.members(), [...b.view], b.odd]).toEqual([[], [], []])
    expect(afterwards).not.toHaveBeenCalled()
  })

  it('a member is gone within 45 s when its node dies', async () => {
    const [a, b] = [await startNode(), await startNode()]
    await joined(a, 'ann')
    await a.die()
    await clock.advance(30_000)
    expect(b.members()).toEqual(['ann'])
    await clock.advance(15_000)
    expect([b.members(), [...b.view]]).toEqual([[], []])
  })

  it('a member is still there for a node that stood still, and did not hear of the others meanwhile', async () => {
    const [still, other] = [await startNode(), await startNode()]
    other.presence.join(ROOM, 'ann', null)
    await clock.advance(10_000)
    expect(still.members()).toEqual(['ann'])
    still.stand(60_000)
    // Its next beat but one comes before it reads what has arrived.
    await clock.advance(81_000)
    still.goOn()
    await clock.advance(20_000)
    expect([still.members(), still.changes]).toEqual([['ann'], ['added ann']])
    await other.die()
    await clock.advance(120_000)
    expect(still.members()).toEqual([])
  })

  it('a member is not affected by messages of another version', async () => {
    const a = await startNode()
    await joined(a, 'ann')
    const envelope = { node: 'x', seq: 0 }
    const unknown: BusMessage['data'][] = [
      {},
      { ...envelope, kind: 'new' },
      { ...envelope, kind: 'joined', entry: [ROOM, 7, null] },
      { ...envelope, kind: 'roster', entries: 'all', first: true, last: true },
      { node: 7, seq: 'x', kind: 'beat' },
    ]
    for (const data of unknown) await bus.publish({ topic: 'presence', data })
    expect([a.members(), a.odd]).toEqual([['ann'], []])
  })
})

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ does: fc.constant('join'), node: fc.nat(2), id: fc.nat(4) }) },
  { weight: 4, arbitrary: fc.record({ does: fc.constant('leave'), node: fc.nat(2), id: fc.nat(4) }) },
  fc.record({ does: fc.constantFrom('sends', 'receives'), node: fc.nat(2), id: fc.constant(0) }),
)

it('whatever messages were lost, all nodes and their sockets agree in the end', async () => {
  await checkProperty(
    fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), async (steps) => {
      clock = new FakeClock()
      bus = memoryBus()
      const nodes = [await startNode(), await startNode(), await startNode()]
      const truth: string[] = []
      for (const { does, node: index, id } of steps) {
        const node = nodes[index]
        if (!node) continue
        const place = truth.indexOf(`${index} ${id}`)
        if (does === 'join') truth.push(`${index} ${id}`)
        if (does === 'join') node.presence.join(ROOM, String(id), null)
        if (does === 'leave' && place >= 0) {
          truth.splice(place, 1)
          node.presence.leave(ROOM, String(id))
        }
        if (does === 'sends' || does === 'receives') node.connection[does] = !node.connection[does]
        await clock.advance(id * 500)
      }
      for (const { connection } of nodes) Object.assign(connection, { sends: true, receives: true })
      await clock.advance(25_000)
      const present = [...new Set(truth.map((place) => place.split(' ')[1]))].sort()
      for (const { members, view, odd } of nodes)
        expect([members(), [...view.keys()].sort(), odd]).toEqual([present, present, []])
    }),
    { numRuns: 50 },
  )
})
