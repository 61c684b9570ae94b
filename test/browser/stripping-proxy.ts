import { once } from 'node:events'
import { createServer, type IncomingMessage, request as sendRequest } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Serves a port below a path. Nothing else of it can be reached. */
export async function strippingProxy(prefix: string, port: number) {
  const forward = (incoming: IncomingMessage) =>
    sendRequest({
      port,
      host: '127.0.0.1',
      method: incoming.method,
      path: incoming.url?.slice(prefix.length),
      headers: { ...incoming.headers, 'x-forwarded-prefix': prefix },
    })
  const proxy = createServer((incoming, outgoing) => {
    if (!incoming.url?.startsWith(`${prefix}/`)) return void outgoing.writeHead(404).end()
    const sent = forward(incoming).on('error', () => outgoing.destroy())
    sent.on('response', (answer) => {
      answer.pipe(outgoing.writeHead(answer.statusCode ?? 502, answer.rawHeaders))
    })
    incoming.pipe(sent)
  })
  proxy.on('upgrade', (incoming, stream) => {
    if (!incoming.url?.startsWith(`${prefix}/`)) return void stream.destroy()
    const sent = forward(incoming).on('error', () => stream.destroy())
    sent.on('upgrade', ({ rawHeaders }, upgraded, head) => {
      const lines = rawHeaders.map((text, n) => (n % 2 ? `${text}\r\n` : `${text}: `))
      stream.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`)
      stream.write(head)
      stream.on('error', () => upgraded.destroy()).pipe(upgraded)
      upgraded.on('error', () => stream.destroy()).pipe(stream)
    })
    sent.end()
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      proxy.closeAllConnections()
      proxy.close()
    },
  }
}
