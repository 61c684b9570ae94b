import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface CuttableProxy extends AsyncDisposable {
  readonly address: string
  /** Drops every connection, and new ones too until `mend`. */
  cut(): void
  mend(): void
}

/**
 * Stands between a client and its server, so that a test can break the line.
 *
 * @example
 * await using proxy = await cuttableProxy('127.0.0.1', 6379)
 * const client = new Redis(`redis://${proxy.address}`)
 * proxy.cut()
 */
export async function cuttableProxy(host: string, port: number): Promise<CuttableProxy> {
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer((client) => {
    const upstream = connect({ host, port })
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    if (isCut) client.destroy()
    else client.pipe(upstream).pipe(client)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const dropAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut() {
      isCut = true
      dropAll()
    },
    mend() {
      isCut = false
    },
    async [Symbol.asyncDispose]() {
      server.close()
      dropAll()
    },
  }
}
