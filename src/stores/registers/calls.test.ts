import { describe, expect, it, vi } from 'vitest'
import { FakeRegisters } from '../../../test/stores/registers/fake-registers.ts'

function setUp() {
  const registers = new FakeRegisters()
  return { registers, store: registers.store() }
}

/** Reads get no answer until it is called. */
function holdReads(registers: FakeRegisters): () => void {
  const { promise, resolve } = Promise.withResolvers<void>()
  const { read } = registers
  registers.read = async (names) => {
    await promise
    return read.call(registers, names)
  }
  return resolve
}

/** After some ticks of the event loop. */
async function isSettled(work: Promise<unknown>): Promise<boolean> {
  let settled = false
  work.then(() => {
    settled = true
  })
  for (let tick = 0; tick < 10; tick++) await new Promise(setImmediate)
  return settled
}

describe('a call', () => {
  it('a call ends when its signal aborts', async () => {
    const { registers, store } = setUp()
    holdReads(registers)
    const caller = new AbortController()
    const call = store.read(['r'], { signal: caller.signal })
    caller.abort(new Error('enough'))
    await expect(call).rejects.toMatchObject({ code: 'aborted', cause: { message: 'enough' } })
    await expect(store.read(['r'], { signal: caller.signal })).rejects.toMatchObject({ code: 'aborted' })
  })

  it('a call ends after five seconds', async () => {
    const { registers, store } = setUp()
    holdReads(registers)
    const call = expect(store.read(['r'])).rejects.toMatchObject({ code: 'store-unavailable' })
    await registers.clock.advance(5000)
    await call
  })

  it('a call writes nothing after its signal aborted', async () => {
    const { registers, store } = setUp()
    const caller = new AbortController()
    const { read } = registers
    registers.read = async (names) => {
      caller.abort()
      return read.call(registers, names)
    }
    const ask = { resource: 'r', id: 'a', owner: 'a', ttl: 1000 }
    await expect(store.acquire(ask, { signal: caller.signal })).rejects.toMatchObject({ code: 'aborted' })
    expect(registers.contents.size).toBe(0)
  })

  it('fails with an error that names the resource', async () => {
    const { registers, store } = setUp()
    registers.read = () => Promise.reject(new Error('oops'))
    const failure = { code: 'store-failed', message: 'oops', resource: 'r' }
    await expect(store.renew({ resource: 'r', id: 'a', ttl: 1000 })).rejects.toMatchObject(failure)
  })
})

describe('close', () => {
  it('close rejects callers at once, and waits for their requests before it closes the registers', async () => {
    const { registers, store } = setUp()
    const answer = holdReads(registers)
    const closed = vi.spyOn(registers, 'close')
    const call = expect(store.read(['r'])).rejects.toMatchObject({ code: 'closed' })
    const closing = store.close()
    await call
    expect(closed).not.toHaveBeenCalled()
    answer()
    await closing
    expect(closed).toHaveBeenCalled()
  })

  it('waits for the read by which a new subscription checks the leases that are held', async () => {
    const { registers, store } = setUp()
    await store.acquire({ resource: 'r', id: 'a', owner: 'a', ttl: 1000, lost: () => {} })
    const answer = holdReads(registers)
    await store.watch(() => {})
    const closing = store.close()
    expect(await isSettled(closing)).toBe(false)
    answer()
    await closing
  })

  it('close ends a subscription that is being opened, and waits for its end', async () => {
    const { registers, store } = setUp()
    const log: string[] = []
    const ended = Promise.withResolvers<void>()
    registers.watch = (_, stop) => {
      stop.addEventListener('abort', () => log.push('stopped'))
      return ended.promise
    }
    const watch = expect(store.watch(() => {})).rejects.toMatchObject({ code: 'closed' })
    const closing = store.close().then(() => log.push('closed'))
    await watch
    expect(log).toEqual(['stopped'])
    ended.resolve()
    await closing
  })

  it('close ends the subscription, and waits for its end', async () => {
    const { registers, store } = setUp()
    const ended = Promise.withResolvers<void>()
    registers.watch = (listener) => {
      listener.opened()
      return ended.promise
    }
    await store.watch(() => {})
    const closing = store.close()
    expect(await isSettled(closing)).toBe(false)
    ended.resolve()
    await closing
  })
})
