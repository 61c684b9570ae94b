import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface LosingProxy extends AsyncDisposable {
  /** The address of the server, through the proxy. */
  readonly url: string
  /** The server's next answer is dropped, and then its connection. */
  loseNextAnswer(): void
}

export async function losingProxy(serverUrl: string): Promise<LosingProxy> {
  const { hostname, port } = new URL(serverUrl)
  const sockets = new Set<Socket>()
  let losing = false
  const server = createServer((client) => {
    const upstream = connect({ host: hostname, port: Number(port) })
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.pipe(upstream)
    upstream.on('data', (answer) => {
      if (losing) client.destroy()
      else client.write(answer)
      losing = false
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(serverUrl)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    loseNextAnswer() {
      losing = true
    },
    async [Symbol.asyncDispose]() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
