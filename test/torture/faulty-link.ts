/**
 * A TCP proxy between a client and its server that does to connections what bad networks do. A stream never loses bytes
 * in the middle, because TCP sends lost packets again: a blackhole holds them back, and its end delivers them or
 * resets the connection.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export type Direction = 'toServer' | 'toClient'

/** What is done to the bytes of one direction. */
export interface Trouble {
  /** Nothing arrives until the trouble is over. */
  readonly holds?: boolean
  /** Every byte arrives so much later. */
  readonly delayMs?: number
  /** One byte after the other arrives, with a pause. */
  readonly drips?: boolean
}

const DRIP_PAUSE_MS = 1
/** A drip that took minutes for a long answer would only be a blackhole. The rest arrives at once. */
const DRIPPED_BYTES = 200

export class FaultyLink implements AsyncDisposable {
  readonly host: string
  readonly port: number
  /** The port of the server to which new connections go. */
  target: number
  readonly #server: Server
  readonly #connections = new Set<Connection>()
  #troubles: Readonly<Partial<Record<Direction, Trouble>>> = {}
  #refuses = false

  private constructor(server: Server, target: number) {
    const { address, port } = server.address() as AddressInfo
    this.host = address
    this.port = port
    this.target = target
    this.#server = server
    server.on('connection', (client) => this.#accept(client))
  }

  /** `host`: the address on which it listens. The server is on this machine. */
  static async open(target: number, host = '127.0.0.1'): Promise<FaultyLink> {
    const server = createServer()
    server.listen(0, host)
    await once(server, 'listening')
    return new FaultyLink(server, target)
  }

  get address(): string {
    return `${this.host}:${this.port}`
  }

  /** From now on, for open and new connections. */
  trouble(troubles: Readonly<Partial<Record<Direction, Trouble>>>): void {
    this.#troubles = troubles
    for (const { pipes } of this.#connections) for (const pipe of pipes) pipe.trouble = this.#of(pipe)
  }

  /** New connections are reset at once. */
  refuse(): void {
    this.#refuses = true
    this.reset()
  }

  /** Every open connection ends with a reset at both ends. */
  reset(): void {
    for (const connection of this.#connections) connection.reset()
  }

  /** What was held back arrives now. */
  heal(): void {
    this.#refuses = false
    this.trouble({})
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    for (const connection of this.#connections) connection.reset()
  }

  #accept(client: Socket): void {
    if (this.#refuses) {
      client.on('error', () => {})
      client.resetAndDestroy()
      return
    }
    const connection = new Connection(client, connect({ host: '127.0.0.1', port: this.target }))
    this.#connections.add(connection)
    connection.onEnd = () => this.#connections.delete(connection)
    for (const pipe of connection.pipes) pipe.trouble = this.#of(pipe)
  }

  #of({ direction }: Pipe): Trouble {
    return this.#troubles[direction] ?? {}
  }
}

class Connection {
  readonly pipes: readonly Pipe[]
  readonly #sockets: readonly Socket[]
  onEnd: () => void = () => {}

  constructor(client: Socket, server: Socket) {
    this.#sockets = [client, server]
    for (const socket of this.#sockets) {
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', () => {
        if (this.#sockets.every(({ destroyed }) => destroyed)) this.onEnd()
      })
    }
    this.pipes = [new Pipe('toServer', client, server), new Pipe('toClient', server, client)]
  }

  reset(): void {
    for (const pipe of this.pipes) pipe.end()
    for (const socket of this.#sockets) socket.resetAndDestroy()
  }
}

interface Piece {
  readonly arrivedAt: number
  /** `null`: the sender has closed the connection. */
  readonly bytes: Buffer | null
}

/** One direction of a connection. What arrived first is delivered first, however long each takes. */
class Pipe {
  readonly direction: Direction
  readonly #to: Socket
  readonly #pieces: Piece[] = []
  #trouble: Trouble = {}
  #isDelivering = false
  #hasEnded = false
  #look = Promise.withResolvers<void>()

  constructor(direction: Direction, from: Socket, to: Socket) {
    this.direction = direction
    this.#to = to
    from.on('data', (bytes) => this.#receive(bytes))
    from.on('close', () => this.#receive(null))
  }

  set trouble(trouble: Trouble) {
    this.#trouble = trouble
    this.#wake()
  }

  end(): void {
    this.#hasEnded = true
    this.#wake()
  }

  #wake(): void {
    this.#look.resolve()
    this.#look = Promise.withResolvers()
  }

  #receive(bytes: Buffer | null): void {
    this.#pieces.push({ arrivedAt: performance.now(), bytes })
    if (!this.#isDelivering) void this.#deliver()
  }

  async #deliver(): Promise<void> {
    this.#isDelivering = true
    for (let piece = this.#pieces.shift(); piece && !this.#hasEnded; piece = this.#pieces.shift()) {
      await this.#due(piece)
      if (this.#to.destroyed) continue
      if (piece.bytes === null) this.#to.destroy()
      else await this.#send(piece.bytes)
    }
    this.#isDelivering = false
  }

  /** Resolves when the piece may arrive. The trouble may change meanwhile. */
  async #due({ arrivedAt }: Piece): Promise<void> {
    while (!this.#hasEnded) {
      const { holds = false, delayMs = 0 } = this.#trouble
      const restMs = arrivedAt + delayMs - performance.now()
      if (!holds && restMs <= 0) return
      const changed = this.#look.promise
      await (holds ? changed : Promise.race([changed, sleep(restMs)]))
    }
  }

  async #send(bytes: Buffer): Promise<void> {
    let sent = 0
    while (this.#trouble.drips && sent < Math.min(bytes.length, DRIPPED_BYTES) && !this.#hasEnded) {
      this.#to.write(bytes.subarray(sent, ++sent))
      await sleep(DRIP_PAUSE_MS)
    }
    if (sent < bytes.length) this.#to.write(bytes.subarray(sent))
  }
}
