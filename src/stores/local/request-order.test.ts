import { describe, expect, it } from 'vitest'
import type { Answer, Ask } from '../../core/index.ts'
import { FakeClock } from '../../testing/index.ts'
import { type RequestOrder, StoreCalls } from './store-calls.ts'

const REFUSED: Answer = { granted: false, holders: [], place: 0, retryIn: null }

/** Calls that note what they send. Each is answered by hand. */
function setUp(order: RequestOrder) {
  const clock = new FakeClock()
  const sent: string[] = []
  const answers = new Map<string, () => void>()
  const calls = new StoreCalls({
    backend: 'Toy',
    explain: (error) => error as never,
    clock,
    order: () => order,
  })
  const send = <T>(name: string, answer: T) => {
    sent.push(name)
    return new Promise<T>((resolve) => answers.set(name, () => resolve(answer)))
  }
  const acquire = (id: string, resource = 'r', wake?: Ask['wake']) => {
    const ask: Ask = { resource, id, owner: 'me', ttl: 1000, ...(wake && { wake }) }
    void calls.acquire(ask, () => send(id, REFUSED)).catch(() => {})
  }
  const release = (id: string, resource = 'r') => {
    const released = { ended: null, holders: [] }
    void calls.release({ resource, id }, () => send(`release ${id}`, released)).catch(() => {})
  }
  const answer = async (name: string) => {
    answers.get(name)?.()
    await clock.advance(0)
  }
  return { clock, sent, acquire, release, answer }
}

describe('calls for one resource', () => {
  it('calls for one resource are sent at once if nothing is under way', () => {
    const { sent, acquire, release } = setUp('in-turn')
    acquire('a', 'one')
    acquire('b', 'two')
    release('c', 'three')
    expect(sent).toEqual(['a', 'b', 'release c'])
  })

  it('calls for one resource are sent one after the other if requests could overtake each other', async () => {
    const { sent, acquire, answer } = setUp('in-turn')
    for (const id of ['a', 'b', 'c']) acquire(id)
    expect(sent).toEqual(['a'])
    await answer('a')
    expect(sent).toEqual(['a', 'b'])
    await answer('b')
    expect(sent).toEqual(['a', 'b', 'c'])
  })

  it('calls for one resource are sent after four seconds though a request is not answered', async () => {
    const { clock, sent, acquire } = setUp('in-turn')
    acquire('a')
    acquire('b')
    await clock.advance(3999)
    expect(sent).toEqual(['a'])
    await clock.advance(2)
    expect(sent).toEqual(['a', 'b'])
  })

  it.each(['awaited', 'in-turn'] as const)(
    'calls for one resource are released after requests that are %s',
    async (order) => {
      const { sent, acquire, release, answer } = setUp(order)
      acquire('a')
      release('holder')
      expect(sent).toEqual(['a'])
      await answer('a')
      expect(sent).toEqual(['a', 'release holder'])
    },
  )

  it('calls for one resource are released before requests of waiters that are still to be sent in turn', async () => {
    const { sent, acquire, release, answer } = setUp('in-turn')
    for (const id of ['a', 'b', 'c']) acquire(id, 'r', () => {})
    release('holder')
    await answer('a')
    expect(sent).toEqual(['a', 'b', 'release holder'])
  })

  it('calls for one resource are released after requests that do not wait and are still to be sent in turn', async () => {
    const { sent, acquire, release, answer } = setUp('in-turn')
    acquire('a')
    acquire('b')
    acquire('c', 'r', () => {})
    release('holder')
    await answer('a')
    expect(sent).toEqual(['a', 'b'])
    await answer('b')
    expect(sent).toEqual(['a', 'b', 'c', 'release holder'])
  })

  it('calls for one resource are released after a second though a request is not answered', async () => {
    const { clock, sent, acquire, release } = setUp('awaited')
    acquire('a')
    release('holder')
    await clock.advance(999)
    expect(sent).toEqual(['a'])
    await clock.advance(2)
    expect(sent).toEqual(['a', 'release holder'])
  })

  it('calls for one resource are sent at once if the store keeps their order', () => {
    const { sent, acquire, release } = setUp('kept')
    acquire('a')
    acquire('b')
    release('holder')
    expect(sent).toEqual(['a', 'b', 'release holder'])
  })

  it('calls for one resource do not delay the release of a request that gives up', () => {
    const { sent, acquire, release } = setUp('in-turn')
    acquire('a')
    release('a')
    expect(sent).toEqual(['a', 'release a'])
  })
})
