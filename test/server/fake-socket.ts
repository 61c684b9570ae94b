import { type PusherFrame, parseFrame } from '../../src/protocol/index.ts'
import type { ChannelsHub, ConnectionHandler, ConnectionRequest } from '../../src/server/channels/index.ts'

export const KEY = 'app-key'
export const SECRET = '7ad3773142a6692b25b8'

/** A client without a network. */
export interface FakeSocket {
  readonly id: string
  /** The frames since the last call. */
  take(): PusherFrame[]
  /** The code with which the server has closed it. */
  readonly code: number | null
  say(event: string, data?: unknown, channel?: string): void
  sayText(text: string): void
  /** Subscribes, and returns the frames that it received. */
  subscribe(channel: string, more?: object): Promise<PusherFrame[]>
  /** Subscribes with a signature, for a presence channel as this member. */
  enter(channel: string, member?: object): Promise<PusherFrame[]>
  alive(): void
  leave(): void
}

export function fakeSocket(hub: ChannelsHub, request: Partial<ConnectionRequest> = {}): FakeSocket {
  let frames: PusherFrame[] = []
  let code: number | null = null
  let answered = () => {}
  const connection = {
    send(text: string) {
      const frame = parseFrame(text)
      if (!frame) throw new Error(`no frame: ${text}`)
      frames.push(frame)
      answered()
    },
    close(closeCode: number) {
      code = closeCode
    },
  }
  const asked = { key: KEY, protocol: '7', library: 'js', client: '127.0.0.1', ...request }
  const handler: ConnectionHandler | null = hub.accept(connection, asked)
  const established = handler ? frames.shift()?.data : {}
  const id = String(Object(established).socket_id)
  const socket: FakeSocket = {
    id,
    get code() {
      return code
    },
    take() {
      const taken = frames
      frames = []
      return taken
    },
    sayText: (text) => handler?.received(text),
    say: (event, data, channel) => socket.sayText(JSON.stringify({ event, data, channel })),
    async subscribe(channel, more = {}) {
      socket.say('pusher:subscribe', { channel, ...more })
      // Signatures are verified asynchronously.
      if (frames.length === 0) await new Promise<void>((resolve) => (answered = resolve))
      return socket.take()
    },
    async enter(channel, member) {
      const channel_data = member && JSON.stringify(member)
      return socket.subscribe(channel, { channel_data, auth: await hub.sign(id, channel, channel_data) })
    },
    alive: () => handler?.alive(),
    leave: () => handler?.closed(),
  }
  return socket
}
