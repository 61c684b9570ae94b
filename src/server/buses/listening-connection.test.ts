import { beforeEach, describe, expect, it, vi } from 'vitest'
import { LeaseError } from '../../base/errors.ts'
import { FakeClock, settled } from '../../testing/fake-clock.ts'
import type { Bus } from '../bus.ts'
import { createBus } from './create-bus.ts'
import { type ConnectionHooks, ListeningConnection } from './listening-connection.ts'

interface FakeConnection extends ConnectionHooks {
  isClosed: boolean
}

let clock: FakeClock
let connections: FakeConnection[]
let refusal: Error | undefined
let opening: Promise<void>
let bus: Bus
const listener = vi.fn()
beforeEach(() => {
  clock = new FakeClock()
  connections = []
  refusal = undefined
  opening = Promise.resolve()
  listener.mockReset()
  const explain = (error: unknown) =>
    error instanceof LeaseError ? error : new LeaseError('store-unavailable', `Toy: ${Object(error).message}`)
  bus = createBus({ name: 'Toy', explain, clock }, (context) => {
    const listening = new ListeningConnection({
      ...context,
      clock,
      async open(hooks) {
        const connection = { ...hooks, isClosed: false }
        connections.push(connection)
        await opening
        if (refusal) throw refusal
        return { close: () => Object.assign(connection, { isClosed: true }) }
      },
    })
    return {
      send: async () => listening.expectEcho(),
      listen: () => listening.open(),
      unlisten: () => listening.closeIfUnneeded(),
    }
  })
})

const MESSAGE = { topic: 'a', data: {} }
const TEXT = JSON.stringify(MESSAGE)
const openConnections = () => connections.filter(({ isClosed }) => !isClosed).length

describe('the connection on which a bus listens', () => {
  it('the connection on which a bus listens is opened once for all listeners, and closed after the last', async () => {
    const subscriptions = await Promise.all([bus.subscribe(listener), bus.subscribe(listener)])
    expect(connections).toHaveLength(1)
    connections[0]?.received(TEXT)
    expect(listener.mock.calls).toEqual([[MESSAGE], [MESSAGE]])
    for (const subscription of subscriptions) {
      expect(openConnections()).toBe(1)
      await subscription[Symbol.asyncDispose]()
    }
    expect(openConnections()).toBe(0)
  })

  it('the connection on which a bus listens if it cannot be opened, the first listener gets the error, and nobody tries again', async () => {
    refusal = new Error('refused')
    await expect(bus.subscribe(listener)).rejects.toMatchObject({
      code: 'store-unavailable',
      message: 'Toy: refused',
    })
    await clock.advance(60_000)
    expect(connections).toHaveLength(1)
  })

  it('the connection on which a bus listens is not tried at once again after a final error', async () => {
    refusal = new LeaseError('store-failed', 'a pooler')
    for (let n = 0; n < 3; n++) await expect(bus.subscribe(listener)).rejects.toThrow('a pooler')
    expect(connections).toHaveLength(1)
  })

  it('the connection on which a bus listens is given up if it does not open in time, and closed if it opens later', async () => {
    const opened = Promise.withResolvers<void>()
    opening = opened.promise
    const subscribed = expect(bus.subscribe(listener)).rejects.toMatchObject({ code: 'store-unavailable' })
    await clock.advance(5100)
    await subscribed
    opened.resolve()
    await settled()
    expect([connections.length, openConnections()]).toEqual([1, 0])
  })

  it('the connection on which a bus listens is opened again and again after it broke, until it is open', async () => {
    await bus.subscribe(listener)
    refusal = new Error('refused')
    connections[0]?.broken()
    await clock.advance(10_000)
    expect(connections.length).toBeGreaterThan(3)
    refusal = undefined
    await clock.advance(5000)
    connections.at(-1)?.received(TEXT)
    connections[0]?.received(TEXT)
    expect(listener).toHaveBeenCalledOnce()
    const count = connections.length
    await clock.advance(60_000)
    expect(connections).toHaveLength(count)
  })

  it("the connection on which a bus listens is replaced when the bus's own messages do not arrive", async () => {
    await bus.subscribe(listener)
    await bus.publish(MESSAGE)
    connections[0]?.received(TEXT)
    await clock.advance(10_000)
    expect(connections).toHaveLength(1)
    await bus.publish(MESSAGE)
    await clock.advance(10_000)
    expect([connections.length, connections[0]?.isClosed, openConnections()]).toEqual([2, true, 1])
  })

  it('the connection on which a bus listens is not open when it broke meanwhile', async () => {
    const opened = Promise.withResolvers<void>()
    opening = opened.promise
    const subscribed = bus.subscribe(listener)
    connections[0]?.broken()
    opened.resolve()
    await expect(subscribed).rejects.toMatchObject({ code: 'store-unavailable' })
    await bus.subscribe(listener)
    expect([connections.length, connections[0]?.isClosed, openConnections()]).toEqual([2, true, 1])
  })

  it('the connection on which a bus listens is closed if it opens after the bus was closed', async () => {
    const opened = Promise.withResolvers<void>()
    opening = opened.promise
    const subscribed = expect(bus.subscribe(listener)).rejects.toMatchObject({ code: 'closed' })
    const closed = bus.close()
    opened.resolve()
    await Promise.all([subscribed, closed])
    expect([connections.length, openConnections()]).toEqual([1, 0])
  })

  it.each(['open', 'broken'])(
    'the connection on which a bus listens stays closed once the bus was closed while it was %s',
    async (state) => {
      await bus.subscribe(listener)
      if (state === 'broken') connections[0]?.broken()
      await bus.close()
      await clock.advance(60_000)
      expect([connections.length, openConnections()]).toEqual([1, 0])
      await expect(bus.subscribe(listener)).rejects.toMatchObject({
        code: 'closed',
        message: 'this Toy bus was closed',
      })
    },
  )
})

describe('a bus', () => {
  it.each([
    '',
    'x',
    '7',
    'null',
    '{}',
    '{"topic":"a"}',
    '{"topic":7,"data":{}}',
    '{"topic":"a","data":null}',
  ])('a bus ignores a malformed message: %s', async (text) => {
    await bus.subscribe(listener)
    connections[0]?.received(text)
    expect(listener).not.toHaveBeenCalled()
  })

  it.each([
    [null, 'message: expected an object'],
    [{ data: {} }, 'message.topic: expected a non-empty string'],
    [{ topic: 'a' }, 'message.data: expected an object'],
    [{ topic: 'a', data: { n: 10n } }, 'message.data: expected JSON; '],
  ])('refuses to publish what is not a message: %#', async (message, error) => {
    const publishing = bus.publish(message as never)
    await expect(publishing).rejects.toMatchObject({
      code: 'invalid-argument',
      message: expect.stringContaining(error),
    })
  })

  it('a bus refuses a listener that is not a function', async () => {
    await expect(bus.subscribe(10n as never)).rejects.toThrow('listener: expected a function, got 10n')
    expect(connections).toHaveLength(0)
  })
})
