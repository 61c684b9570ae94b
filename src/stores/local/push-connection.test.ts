import { describe, expect, it, vi } from 'vitest'
import type { Clock } from '../../base/clock.ts'
import { LeaseError } from '../../base/errors.ts'
import { FakeClock, settled } from '../../testing/fake-clock.ts'
import { LocalListeners } from './listeners.ts'
import { PushConnection } from './push-connection.ts'

interface Connection {
  readonly number: number
  broken(): void
}

function setUp() {
  const clock = new FakeClock()
  const log: string[] = []
  const state = {
    needed: true,
    error: undefined as Error | undefined,
    /** Of the attempts from now on. */
    answer: undefined as Promise<void> | undefined,
    stop: undefined as AbortSignal | undefined,
    opened: 0,
  }
  const push = new PushConnection<Connection>({
    clock,
    async open(broken, stop) {
      const number = ++state.opened
      state.stop = stop
      await state.answer
      if (state.error) throw state.error
      return { number, broken }
    },
    close: ({ number }) => log.push(`closed ${number}`),
    isNeeded: () => state.needed,
    opened: ({ number }, missed) => log.push(`opened ${number}${missed ? ' missed' : ''}`),
  })
  return { clock, log, state, push }
}

describe('the push connection', () => {
  it('the push connection is opened once for all who want it', async () => {
    const { push, log } = setUp()
    const [one, two] = await Promise.all([push.open(), push.open()])
    expect(one).toBe(two)
    expect(log).toEqual(['opened 1'])
  })

  it('the push connection comes back after a pause when it broke, and says that something was missed', async () => {
    const { clock, push, log } = setUp()
    const connection = await push.open()
    connection.broken()
    expect(push.connection).toBeUndefined()
    await clock.advance(50)
    expect(log).toEqual(['opened 1', 'closed 1', 'opened 2 missed'])
  })

  it('the push connection tries again while it is needed, with longer pauses', async () => {
    const { clock, state, push } = setUp()
    state.error = new Error('refused')
    await expect(push.open()).rejects.toThrow('refused')
    await clock.advance(60_000)
    expect(state.opened).toBeGreaterThan(5)
    expect(state.opened).toBeLessThan(20)
    state.needed = false
    await clock.advance(10_000)
    const { opened } = state
    await clock.advance(60_000)
    expect(state.opened).toBe(opened)
  })

  it('the push connection does not try again for a while after a final error', async () => {
    const { clock, state, push } = setUp()
    state.error = new LeaseError('store-failed', 'a pooler')
    for (let n = 0; n < 3; n++) await expect(push.open()).rejects.toThrow('a pooler')
    expect(state.opened).toBe(1)
    state.error = undefined
    await clock.advance(30_000)
    expect(await push.open()).toMatchObject({ number: 2 })
  })

  it('the push connection tries again soon if the next error is not final', async () => {
    const { clock, state, push } = setUp()
    state.error = new LeaseError('store-failed', 'a pooler')
    await expect(push.open()).rejects.toThrow('a pooler')
    state.error = new Error('refused')
    await clock.advance(30_000)
    expect(state.opened).toBe(2)
    await clock.advance(10_000)
    expect(state.opened).toBeGreaterThan(2)
  })

  it('the push connection is closed when it was not needed for a while', async () => {
    const { clock, state, push, log } = setUp()
    await push.open()
    await clock.advance(10_000)
    expect(log).toEqual(['opened 1'])
    state.needed = false
    await clock.advance(4000)
    expect(log).toEqual(['opened 1', 'closed 1'])
    expect(clock.pending).toBe(0)
  })

  it('the push connection is closed at once on request, unless somebody needs it, and may be opened again', async () => {
    const { state, push, log } = setUp()
    await push.open()
    await push.closeIfUnneeded()
    expect(log).toEqual(['opened 1'])
    state.needed = false
    await push.closeIfUnneeded()
    await push.open()
    expect(log).toEqual(['opened 1', 'closed 1', 'opened 2'])
  })

  it('the push connection is opened later for those who may not need it then', async () => {
    const { clock, state, push } = setUp()
    push.openIn(200)
    state.needed = false
    await clock.advance(1000)
    expect(state.opened).toBe(0)
    state.needed = true
    push.openIn(200)
    await clock.advance(200)
    expect(state.opened).toBe(1)
  })

  it('the push connection is opened for a lease that is held for a while, not for many short ones', async () => {
    const { clock, state, push } = setUp()
    const listeners = new LocalListeners(clock)
    const hold = (id: string) => {
      const who = { resource: 'r', id, owner: 'Mika' }
      const times = { acquiredAt: 0, expiresAt: 60_000, remaining: 60_000 }
      const lease = { ...who, ...times, token: 1, metadata: null, share: null, state: 'held' as const }
      listeners.expect({ ...who, ttl: 60_000, lost: () => {} })
      listeners.granted(lease)
      push.openForHolder(lease, listeners)
    }
    for (let n = 0; n < 20; n++) {
      hold(`short ${n}`)
      listeners.forget(`short ${n - 1}`)
      await clock.advance(100)
    }
    expect(state.opened).toBe(0)
    hold('long')
    listeners.forget('short 19')
    await clock.advance(400)
    expect(state.opened).toBe(1)
  })

  it('the push connection is opened later also after an attempt that failed while a later one was planned', async () => {
    const { clock, state, push } = setUp()
    push.openIn(200)
    state.needed = false
    state.error = new Error('refused')
    await expect(push.open()).rejects.toThrow('refused')
    state.needed = true
    state.error = undefined
    push.openIn(200)
    await clock.advance(200)
    expect(push.connection).toBeDefined()
  })

  it('the push connection is not opened any more after close', async () => {
    const { clock, push, state } = setUp()
    await push.open()
    await push.close()
    await expect(push.open()).rejects.toMatchObject({ code: 'closed' })
    push.openIn(0)
    await clock.advance(10_000)
    expect([state.opened, clock.pending]).toEqual([1, 0])
  })

  it('the push connection gives up an attempt without an answer, frees what is half open, and tries again', async () => {
    const { clock, push, state, log } = setUp()
    const first = Promise.withResolvers<void>()
    state.answer = first.promise
    const opening = push.open()
    const refused = expect(opening).rejects.toMatchObject({
      code: 'store-unavailable',
      message: 'no answer within 10000 ms',
    })
    await clock.advance(9999)
    expect(state.stop?.aborted).toBe(false)
    await clock.advance(1)
    await refused
    expect(state.stop?.aborted).toBe(true)
    state.answer = undefined
    await clock.advance(200)
    expect(push.connection).toMatchObject({ number: 2 })
    first.resolve()
    await clock.advance(0)
    expect(log).toEqual(['opened 2', 'closed 1'])
    expect(state.stop?.aborted).toBe(false)
  })

  it('the push connection keeps no process alive by the limit of an attempt', async () => {
    const { clock, push, state } = setUp()
    const timers = vi.spyOn(clock as Clock, 'setTimer')
    state.answer = new Promise(() => {})
    void push.open().catch(() => {})
    expect(timers.mock.calls.map(([, , background]) => background)).toEqual([true])
  })

  it('the push connection ends an attempt without an answer when it is closed', async () => {
    const { clock, push, state, log } = setUp()
    const answer = Promise.withResolvers<void>()
    state.answer = answer.promise
    const refused = expect(push.open()).rejects.toMatchObject({ code: 'closed' })
    await clock.advance(0)
    await push.close()
    await refused
    expect([state.stop?.aborted, clock.pending]).toEqual([true, 0])
    answer.resolve()
    await clock.advance(0)
    expect(log).toEqual(['closed 1'])
  })

  it('the push connection waits a second for a goodbye, and keeps the process alive meanwhile', async () => {
    const clock = new FakeClock()
    const setTimer = vi.spyOn(clock as Clock, 'setTimer')
    const push = new PushConnection({
      clock,
      open: async () => 'connection',
      close: () => new Promise(() => {}),
      isNeeded: () => true,
      opened() {},
    })
    await push.open()
    setTimer.mockClear()
    const closing = push.close()
    await settled()
    expect(setTimer.mock.calls.map(([, , background]) => background)).toEqual([undefined])
    await clock.advance(1000)
    await closing
    expect(clock.pending).toBe(0)
  })

  it('the push connection drops a connection that opens after close', async () => {
    const { push, log } = setUp()
    const opening = push.open()
    const closing = push.close()
    await expect(opening).rejects.toMatchObject({ code: 'closed' })
    await closing
    expect(log).toEqual(['closed 1'])
  })
})
