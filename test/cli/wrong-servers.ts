import { once } from 'node:events'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** Where a server listens that treats each connection so. */
export async function wrongServer(treat: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    treat(socket)
  })
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
  })
  return placeOf(server)
}

export async function wrongWebServer(respond: RequestListener): Promise<string> {
  const server = createHttpServer(respond)
  onTestFinished(() => server.closeAllConnections())
  return placeOf(server)
}

async function placeOf(server: Server): Promise<string> {
  onTestFinished(() => void server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** An ErrorResponse of the Postgres protocol. */
export function postgresRefusal(code: string, message: string): string {
  const fields = `SFATAL\0C${code}\0M${message}\0\0`
  return `E\0\0\0${String.fromCharCode(fields.length + 4)}${fields}`
}
