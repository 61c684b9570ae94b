import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { memoryBus } from '../../src/server/buses/memory.ts'
import { type ChannelsHub, createChannels } from '../../src/server/channels/index.ts'
import type { ChannelsOptions } from '../../src/server/channels/options.ts'
import type { SocketsOptions } from '../../src/server/node/options.ts'
import { attachSockets } from '../../src/server/node/sockets.ts'
import { KEY, SECRET } from './fake-socket.ts'

export interface SocketServer extends AsyncDisposable {
  readonly port: number
  /** The address of its sockets. */
  readonly url: string
  readonly hub: ChannelsHub
  readonly http: Server
}

interface SocketServerOptions extends SocketsOptions, Partial<ChannelsOptions> {
  readonly port?: number
}

/** Channels on a real server. Its auth endpoint signs for everybody, as the user in the path. */
export async function openSocketServer(options: SocketServerOptions = {}): Promise<SocketServer> {
  const bus = options.bus ?? memoryBus()
  const { port: wantedPort = 0, path, maxPayload, maxBuffered, clientOf, ...channels } = options
  const hub = createChannels({ key: KEY, secret: SECRET, ...channels, bus })
  const server = createServer((request, response) => {
    authorize(hub, request, response).catch(() => response.writeHead(400).end())
  })
  const sockets = attachSockets(server, hub, {
    ...(path !== undefined && { path }),
    ...(maxPayload !== undefined && { maxPayload }),
    ...(maxBuffered !== undefined && { maxBuffered }),
    ...(clientOf && { clientOf }),
  })
  server.listen(wantedPort, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `ws://127.0.0.1:${port}/app/${KEY}?protocol=7`,
    hub,
    http: server,
    async [Symbol.asyncDispose]() {
      await hub.close()
      await sockets.close()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function authorize(
  hub: ChannelsHub,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  let body = ''
  for await (const chunk of request) body += chunk
  const form = new URLSearchParams(body)
  const [channel, socketId] = [form.get('channel_name') ?? '', form.get('socket_id') ?? '']
  const [, user = ''] = /^\/auth\/(\w+)$/.exec(request.url ?? '') ?? []
  const channel_data = channel.startsWith('presence-')
    ? JSON.stringify({ user_id: user, user_info: { name: user } })
    : undefined
  const auth = await hub.sign(socketId, channel, channel_data)
  const forged = { auth: `${KEY}:${'0'.repeat(64)}`, channel_data }
  response.setHeader('Content-Type', 'application/json')
  response.end(JSON.stringify(user === 'mallory' ? forged : { auth, channel_data }))
}
