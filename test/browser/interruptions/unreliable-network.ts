import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import type { Random } from '../../random.ts'

/** What the network does with the requests of one person. */
export type Weather = 'good' | 'slow' | 'late' | 'doubled'

/** Stands between one person's browser and the server. It never drops a request that it has accepted. */
export class UnreliableNetwork implements AsyncDisposable {
  readonly #random: Random
  readonly #target: { readonly port: number }
  readonly #proxy = createServer((incoming, outgoing) => {
    this.#pass(incoming, outgoing).catch(() => outgoing.destroy())
  })
  readonly #sockets = new Set<Socket>()
  #withheld: (() => Promise<unknown>)[] = []
  weather: Weather = 'good'

  constructor(random: Random, target: { readonly port: number }) {
    this.#random = random
    this.#target = target
  }

  async open(): Promise<number> {
    this.#proxy.on('upgrade', (incoming, socket, head) => this.#tunnel(incoming, socket as Socket, head))
    this.#proxy.listen(0, '127.0.0.1')
    await once(this.#proxy, 'listening')
    return (this.#proxy.address() as AddressInfo).port
  }

  /** The requests that were held back arrive now, in any order. Nobody waits for their answers any more. */
  deliver(): void {
    const late = this.#random.shuffled(this.#withheld)
    this.#withheld = []
    for (const send of late) send().catch(() => {})
  }

  async #pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await buffer(incoming)
    const send = () => this.#send(incoming, body)
    const isChange = incoming.method !== 'GET' && incoming.method !== 'OPTIONS'
    if (this.weather === 'slow') await pause(this.#random.between(100, 2500))
    if (this.weather === 'late' && isChange && this.#random.chance(0.6)) {
      this.#withheld.push(send)
      // The page learns at once that its request failed, or it waits.
      if (this.#random.chance(0.5)) outgoing.destroy()
      return
    }
    const isDoubled = this.weather === 'doubled' && isChange
    const first = send()
    if (isDoubled && this.#random.chance(0.5)) this.#withheld.push(send)
    else if (isDoubled) send().catch(() => {})
    const answer = await first
    if (this.weather === 'slow') await pause(this.#random.between(100, 2500))
    outgoing.writeHead(answer.status, answer.headers).end(answer.body)
  }

  async #send({ method, url, headers }: IncomingMessage, body: Buffer) {
    const sending = request({
      host: '127.0.0.1',
      port: this.#target.port,
      method,
      path: url,
      headers: { ...headers, connection: 'close' },
    })
    sending.end(body)
    const [response] = await once(sending, 'response')
    return { status: response.statusCode, headers: response.headers, body: await buffer(response) }
  }

  #tunnel(incoming: IncomingMessage, socket: Socket, head: Buffer): void {
    const upstream = connect({ host: '127.0.0.1', port: this.#target.port })
    const { rawHeaders } = incoming
    const lines = rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${rawHeaders[at + 1]}`] : []))
    upstream.write(`${incoming.method} ${incoming.url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
    upstream.write(head)
    for (const end of [socket, upstream]) {
      this.#sockets.add(end)
      end.on('error', () => {})
      end.on('close', () => {
        this.#sockets.delete(end)
        socket.destroy()
        upstream.destroy()
      })
    }
    socket.pipe(upstream).pipe(socket)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#proxy.close()
    this.#proxy.closeAllConnections()
    for (const socket of this.#sockets) socket.destroy()
  }
}
