import { describe, expect, it, vi } from 'vitest'
import { FakeRegisters } from '../../../test/stores/registers/fake-registers.ts'
import { registerStore } from './store.ts'

describe('a call to registers', () => {
  const stuck = () => {
    const registers = new FakeRegisters()
    registers.read = () => new Promise(() => {})
    return registerStore('fake', registers)
  }

  it('ends with the signal of its caller', async () => {
    const store = stuck()
    const caller = new AbortController()
    const call = store.read(['r'], { signal: caller.signal })
    caller.abort(new Error('enough'))
    await expect(call).rejects.toMatchObject({ code: 'aborted', cause: { message: 'enough' } })
    await expect(store.read(['r'], { signal: caller.signal })).rejects.toMatchObject({ code: 'aborted' })
  })

  it('ends when the store is closed', async () => {
    const store = stuck()
    const call = expect(store.read(['r'])).rejects.toMatchObject({ code: 'closed' })
    await store.close()
    await call
  })

  it('ends after five seconds', async () => {
    vi.useFakeTimers()
    try {
      const call = expect(stuck().read(['r'])).rejects.toMatchObject({ code: 'store-unavailable' })
      await vi.advanceTimersByTimeAsync(5000)
      await call
    } finally {
      vi.useRealTimers()
    }
  })

  it('writes nothing more once its caller has gone', async () => {
    const registers = new FakeRegisters()
    const store = registerStore('fake', registers)
    const caller = new AbortController()
    const { read } = registers
    registers.read = async (names) => {
      caller.abort()
      return read.call(registers, names)
    }
    const ask = { resource: 'r', id: 'a', owner: 'a', ttl: 1000 }
    await expect(store.acquire(ask, { signal: caller.signal })).rejects.toMatchObject({ code: 'aborted' })
    expect(registers.entries.size).toBe(0)
  })
})
