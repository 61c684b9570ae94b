import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** A request that the proxy has received and not passed on. */
export interface Withheld {
  readonly name: string
  /** Passes it on, and answers the client if it still waits. It may be called again: the network doubles requests. */
  deliver(how?: 'unanswered'): Promise<void>
}

export interface WithholdingProxy extends AsyncDisposable {
  readonly url: string
  /** The requests that were withheld, such as `PUT /api/documents/room`, in the order in which they arrived. */
  readonly withheld: Withheld[]
  /** Which requests to withhold. Default: none. */
  withholds: (name: string) => boolean
}

/** Stands between a client and its server, and lets a test decide when a request arrives, and how often. */
export async function withholdingProxy(port: number): Promise<WithholdingProxy> {
  const proxy = createServer(async (incoming, outgoing) => {
    const { method = '', url: path = '' } = incoming
    const body = await buffer(incoming)
    const deliver: Withheld['deliver'] = async (how) => {
      const answer = await send({ port, method, path, headers: incoming.headers }, body)
      if (!outgoing.writableEnded && how !== 'unanswered')
        outgoing.writeHead(answer.status, answer.headers).end(answer.body)
    }
    const name = `${method} ${path}`
    if (opened.withholds(name)) opened.withheld.push({ name, deliver })
    else await deliver().catch(() => outgoing.destroy())
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const opened: WithholdingProxy = {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    withheld: [],
    withholds: () => false,
    async [Symbol.asyncDispose]() {
      proxy.closeAllConnections()
      proxy.close()
    },
  }
  return opened
}

interface Sent {
  readonly port: number
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
}

async function send({ port, method, path, headers }: Sent, body: Buffer) {
  const sending = request({
    host: '127.0.0.1',
    port,
    method,
    path,
    headers: { ...headers, connection: 'close' },
  })
  sending.end(body)
  const [response] = await once(sending, 'response')
  return { status: response.statusCode, headers: response.headers, body: await buffer(response) }
}
