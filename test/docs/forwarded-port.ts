import type { AddressInfo } from 'node:net'
import { connect, createServer, type Server, type Socket } from 'node:net'

/** A port whose connections go to another port of this machine, which may change. */
export class ForwardedPort implements AsyncDisposable {
  /** `undefined`: nobody listens there. */
  #target: number | undefined
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor() {
    this.#server = createServer((socket) => {
      if (this.#target === undefined) {
        socket.resetAndDestroy()
        return
      }
      const other = connect(this.#target, '127.0.0.1')
      for (const [from, to] of [
        [socket, other],
        [other, socket],
      ] as const) {
        this.#sockets.add(from)
        from.pipe(to)
        from.on('error', () => to.destroy())
        from.on('close', () => {
          to.destroy()
          this.#sockets.delete(from)
        })
      }
    })
  }

  static async open(): Promise<ForwardedPort> {
    const forwarded = new ForwardedPort()
    await new Promise<void>((resolve) => forwarded.#server.listen(0, '127.0.0.1', resolve))
    return forwarded
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Ends the connections too, so that a browser does not use them for the next target. */
  forward(target: number | undefined): void {
    this.#target = target
    for (const socket of this.#sockets) socket.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.forward(undefined)
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
