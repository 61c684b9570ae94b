import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** A connection that sends one request after the other and looks at nothing but the status: the load must be light. */
export class Wire {
  readonly #socket: Socket
  #received = ''
  #answered: (status: number) => void = () => {}

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay()
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => this.#read(text))
    socket.on('close', () => this.#answered(0))
    socket.on('error', () => {})
  }

  static async open(port: number): Promise<Wire> {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    return new Wire(socket)
  }

  /** Resolves with the status; 0 if the connection was lost. */
  send(request: string): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>()
    this.#answered = resolve
    this.#socket.write(request)
    return promise
  }

  close(): void {
    this.#socket.destroy()
  }

  #read(text: string): void {
    this.#received += text
    const end = this.#received.indexOf('\r\n\r\n')
    if (end < 0) return
    const [, length = '0'] = /\r\ncontent-length: (\d+)/i.exec(this.#received) ?? []
    if (this.#received.length < end + 4 + Number(length)) return
    const status = Number(this.#received.slice(9, 12))
    this.#received = ''
    this.#answered(status)
  }
}

export function requestText(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body = '',
): string {
  const lines = Object.entries({ Host: '127.0.0.1', ...headers, 'Content-Length': String(body.length) })
  return `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`
}
