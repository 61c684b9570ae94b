import { beforeEach, describe, expect, it } from 'vitest'
import { FakeClock, settled } from '../../testing/fake-clock.ts'
import type { BusMessage } from '../bus.ts'
import { Occupancy } from './occupancy.ts'

const CHANNEL = 'private-a'
let clock: FakeClock
/** What this node has published. */
let published: BusMessage['data'][]
let nodes: { node: string; peers: string[] }
let occupancy: Occupancy
beforeEach(() => {
  clock = new FakeClock()
  published = []
  nodes = { node: 'here', peers: ['b', 'c'] }
  const bus = {
    publish: async ({ data }: BusMessage) => void published.push(data),
    subscribe: async () => ({ async [Symbol.asyncDispose]() {} }),
    async close() {},
  }
  occupancy = new Occupancy(bus, clock, () => [[CHANNEL, 1]], nodes)
})

const receive = (data: BusMessage['data']) => occupancy.receive({ topic: 'occupancy', data })

async function ask() {
  const counting = { result: undefined as number | undefined }
  void occupancy.count('').then((counts) => {
    counting.result = counts.get(CHANNEL)
  })
  await settled()
  const { ask: id = '' } = published[0] ?? {}
  const answer = (node: string, sockets: number) =>
    receive({ answer: id, ...(node && { node }), counts: [[CHANNEL, sockets]] })
  return { id, counting, answer }
}

describe('the sockets of all nodes', () => {
  it('the sockets of all nodes are counted when every known node has answered, however many others have', async () => {
    const { counting, answer } = await ask()
    answer('b', 10)
    answer('new', 100)
    await settled()
    expect(counting.result).toBeUndefined()
    answer('c', 1000)
    await settled()
    expect(counting.result).toBe(1111)
  })

  it('the sockets of all nodes are counted once, though an answer comes twice', async () => {
    const { counting, answer } = await ask()
    for (const node of ['b', 'b', 'here', 'c']) answer(node, 10)
    await settled()
    expect(counting.result).toBe(21)
  })

  it('the sockets of all nodes of this node are known, though no message arrives', async () => {
    const { id, counting } = await ask()
    receive({ ask: id, prefix: '' })
    receive({ answer: id, node: 'b', counts: 'malformed' })
    await clock.advance(1000)
    expect(counting.result).toBe(1)
    expect(published).toHaveLength(1)
  })

  it('the sockets of all nodes of nodes of an earlier version are counted, too', async () => {
    const { counting, answer } = await ask()
    for (const node of ['', '']) answer(node, 10)
    await clock.advance(1000)
    expect(counting.result).toBe(21)
  })

  it('the sockets of all nodes of a node without others are counted without the bus', async () => {
    nodes.peers = []
    expect((await occupancy.count('')).get(CHANNEL)).toBe(1)
    expect(published).toEqual([])
  })
})
