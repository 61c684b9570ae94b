import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { FakeClock } from '../testing/index.ts'
import { createSocket } from './socket.ts'

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
    const socket = createSocket({
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

  it('ignores what an ended connection still delivers', async () => {
    const { socket, connection } = openSocket()
    socket.close()
    connection.say('pusher:connection_established', { socket_id: '1.1', activity_timeout: 1 })
    connection.say('changed', {}, 'room')
    expect(events).toEqual([])
    expect(connections).toEqual([false])
    expect(clock.pending).toBe(0)
  })

  it.each([0, -5, 'soon', null])('does not ping all the time if the server asks for %j', async (timeout) => {
    const { connection } = openSocket()
    connection.say('pusher:connection_established', { socket_id: '1.1', activity_timeout: timeout })
    await clock.advance(999)
    expect(connection.sent).toEqual(['pusher:subscribe'])
  })
})
