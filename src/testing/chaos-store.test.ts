import { describe, expect, it } from 'vitest'
import { memoryStore } from '../stores/memory.ts'
import { chaosStore, FakeClock, type Faults } from './index.ts'

const ask = { resource: 'r', id: 'a', owner: 'a', ttl: 10_000 }

describe('a chaos store', () => {
  it('a chaos store is the store itself without faults', async () => {
    const { chaos } = setUp({})
    expect(await chaos.acquire(ask)).toMatchObject({ granted: true })
    expect(await chaos.acquire({ ...ask, id: 'b' })).toMatchObject({ granted: false })
  })

  it('a chaos store loses the request, or its answer', async () => {
    for (const [faults, held] of [
      [{ loseRequest: 1 }, false],
      [{ loseAnswer: 1 }, true],
    ] as const) {
      const { clock, chaos, store } = setUp(faults)
      let settled = false
      chaos.acquire(ask).finally(() => {
        settled = true
      })
      await clock.advance(5000)
      expect((await store.read(['r']))[0]?.length === 1).toBe(held)
      await clock.advance(60_000)
      expect(settled).toBe(false)
    }
  })

  it('a chaos store fails before or after the store did what was asked', async () => {
    for (const [faults, held] of [
      [{ failBefore: 1 }, false],
      [{ failAfter: 1 }, true],
    ] as const) {
      const { chaos, store } = setUp(faults)
      await expect(chaos.acquire(ask)).rejects.toMatchObject({ code: 'store-unavailable', retryable: true })
      expect((await store.read(['r']))[0]?.length === 1).toBe(held)
    }
  })

  it('a chaos store delays each way', async () => {
    const { clock, chaos, store } = setUp({ delay: [100, 100] })
    let answered = false
    chaos.acquire(ask).then(() => {
      answered = true
    })
    await clock.advance(99)
    expect(await store.read(['r'])).toEqual([[]])
    await clock.advance(1)
    expect(await store.read(['r'])).not.toEqual([[]])
    expect(answered).toBe(false)
    await clock.advance(100)
    expect(answered).toBe(true)
  })

  it('a chaos store delivers a request twice', async () => {
    const { clock, chaos, store } = setUp({ duplicate: 1, delay: [10, 10] })
    const acquiring = chaos.acquire(ask)
    await clock.advance(15)
    await store.release({ resource: 'r', id: 'a' })
    await clock.advance(20)
    await acquiring
    expect(await store.read(['r'])).toMatchObject([[{ id: 'a' }]])
  })

  it('answers reads with what was', async () => {
    const { chaos } = setUp({})
    expect(await chaos.read(['r'])).toEqual([[]])
    await chaos.acquire(ask)
    chaos.faults = { staleRead: 1 }
    expect(await chaos.read(['r'])).toEqual([[]])
    chaos.faults = {}
    expect(await chaos.read(['r'])).not.toEqual([[]])
  })

  it('a chaos store loses pushes', async () => {
    const { clock, chaos, store } = setUp({ losePush: 1 })
    let told = 0
    await chaos.acquire(ask)
    await chaos.acquire({ ...ask, id: 'b', wake: () => told++ })
    await store.release({ resource: 'r', id: 'a' })
    await clock.advance(100)
    expect(told).toBe(0)
  })
})

function setUp(faults: Faults) {
  const clock = new FakeClock()
  const store = memoryStore({ clock })
  return { clock, store, chaos: chaosStore(store, { clock, faults }) }
}
