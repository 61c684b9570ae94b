import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { LeaseError } from '../base/errors.ts'
import { FakeClock } from '../testing/index.ts'
import { Socket } from './socket.ts'

/** The page's end of a connection. A test speaks as the server, by `say`. */
class Connection {
  static readonly all: Connection[] = []
  readonly readyState = 1
  readonly sent: string[] = []
  onmessage: ((message: { readonly data: string }) => void) | undefined
  onclose: (() => void) | undefined

  constructor() {
    Connection.all.push(this)
  }

  send(text: string): void {
    this.sent.push(JSON.parse(text).event)
  }

  close(): void {}

  say(event: string, data: object, channel?: string): void {
    this.onmessage?.({ data: JSON.stringify({ event, data: JSON.stringify(data), channel }) })
  }
}

describe('a socket', () => {
  let clock: FakeClock
  const events: string[] = []
  const connections: boolean[] = []
  beforeEach(() => {
    clock = new FakeClock()
    for (const list of [Connection.all, events, connections]) list.length = 0
    vi.stubGlobal('WebSocket', Connection)
  })
  afterEach(() => vi.unstubAllGlobals())

  function openSocket() {
    const socket = new Socket({
      url: 'http://localhost:4321/',
      key: 'key',
      channels: ['room'],
      clock,
      api: () => Promise.reject(new Error('a public channel needs no signature')),
      onEvent: (event) => events.push(event),
      onJoined: () => {},
      onConnection: (isOpen) => connections.push(isOpen),
    })
    socket.open()
    return { socket, connection: Connection.all[0] as Connection }
  }

  it('a socket ignores what an ended connection still delivers', async () => {
    const { socket, connection } = openSocket()
    socket.close()
    connection.say('pusher:connection_established', { socket_id: '1.1', activity_timeout: 1 })
    connection.say('changed', {}, 'room')
    expect(events).toEqual([])
    expect(connections).toEqual([false])
    expect(clock.pending).toBe(0)
  })

  it('a socket ignores a server that does not say who it is', async () => {
    const { connection } = openSocket()
    for (const socket_id of [undefined, 5, { toString: null }])
      connection.say('pusher:connection_established', { socket_id, activity_timeout: 1 })
    expect([connection.sent, connections]).toEqual([[], []])
  })

  it.each([0, -5, 'soon', null, { valueOf: null }])(
    'a socket does not ping all the time if the server asks for %j',
    async (timeout) => {
      const { connection } = openSocket()
      connection.say('pusher:connection_established', { socket_id: '1.1', activity_timeout: timeout })
      await clock.advance(999)
      expect(connection.sent).toEqual(['pusher:subscribe'])
    },
  )

  describe('that is ended again and again', () => {
    const last = () => Connection.all.at(-1) as Connection
    const join = (connection: Connection) => {
      connection.say('pusher:connection_established', { socket_id: '1.1', activity_timeout: 120 })
      connection.say('pusher_internal:subscription_succeeded', {}, 'room')
    }
    /** How many connections a minute takes if each of them ends after this time. */
    const connectionsOfAMinute = async (lifeMs: number) => {
      const before = Connection.all.length
      let openedAt = clock.monotonic()
      for (let passed = 0; passed < 60_000; passed += 10) {
        const { length } = Connection.all
        await clock.advance(10)
        if (Connection.all.length > length) {
          openedAt = clock.monotonic()
          join(last())
        }
        if (clock.monotonic() - openedAt >= lifeMs) last().onclose?.()
      }
      return Connection.all.length - before
    }

    it('a socket that is ended right after it was opened reconnects after pauses that grow', async () => {
      const { connection } = openSocket()
      join(connection)
      const first = await connectionsOfAMinute(50)
      expect(first).toBeGreaterThan(3)
      expect(first).toBeLessThan(12)
      expect(await connectionsOfAMinute(50)).toBeLessThan(8)
    })

    it('a socket that is ended again and again after it worked for a while reconnects at once', async () => {
      openSocket()
      for (let n = 0; n < 6; n++) {
        const { length } = Connection.all
        last().onclose?.()
        while (Connection.all.length === length) await clock.advance(100)
      }
      join(last())
      await clock.advance(10_000)
      last().onclose?.()
      const { length } = Connection.all
      await clock.advance(750)
      expect(Connection.all).toHaveLength(length + 1)
    })
  })

  it('a socket whose subscription the server limits connects again when the server said, not before', async () => {
    const cause = { status: 429, error: 'too_many_requests', retryAfterMs: 60_000 }
    const socket = new Socket({
      url: 'http://localhost:4321/',
      key: 'key',
      channels: ['private-room'],
      clock,
      api: () => Promise.reject(new LeaseError('too-many-requests', 'slow down', { cause })),
      onEvent: () => {},
      onJoined: () => {},
    })
    socket.open()
    Connection.all[0]?.say('pusher:connection_established', { socket_id: '1.1', activity_timeout: 120 })
    for (let passed = 0; passed < 59_000; passed += 1000) {
      await clock.advance(1000)
      socket.checkNow()
    }
    expect(Connection.all).toHaveLength(1)
    await clock.advance(1000)
    expect(Connection.all).toHaveLength(2)
    socket.close()
  })
})
