/** The nodes of the service, and the balancer before them. */
import type { LockServer } from '../../../src/server/create.ts'
import { SimProcess } from '../process.ts'
import type { Random, World } from '../world.ts'
import type { Backend } from './backend.ts'
import { PlainHeaders, processGlobals } from './globals.ts'
import { Link } from './link.ts'
import type { Programs } from './programs.ts'
import type { Story } from './story.ts'

export const ORIGIN = 'http://holdfast.test'

export const SETTINGS = {
  ttl: 9000,
  heartbeat: 3000,
  sweep: 10_000,
  grace: 2000,
  answerWithin: 4000,
  maxWait: 8000,
  activityTimeout: 10_000,
  rate: 0,
  cookieSecrets: ['a-cookie-secret-of-the-simulation'],
  channelSecret: 'a-channel-secret-of-the-simulation',
} as const

/** Withdrawals compare the wall clocks of nodes, which are synchronized in a data center. */
const NODE_SKEW_MS = 5
const NODE_DRIFT = 0.000_05

/** What a node does with a request, as its connection sees it. */
export interface Exchange {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  /** Aborts when the node learns that the client has gone. */
  readonly signal: AbortSignal
  answer(response: Answer): void
  /** The connection ended without a response. */
  broken(): void
}

export interface Answer {
  readonly status: number
  readonly headers: Pick<Headers, 'get'>
  readonly text: string
}

/** The end of a WebSocket at a node. */
export interface NodeSocket {
  received(text: string): void
  closed(): void
}

/** The end of a WebSocket at a page, as the node sees it. */
export interface PageSocket {
  receive(text: string): void
  /** Closed by the node, or with it. */
  end(): void
}

export class ServiceNode {
  readonly name: string
  readonly link: Link
  process: SimProcess
  #server: LockServer | undefined
  readonly #world: World
  readonly #story: Story
  readonly #backend: Backend
  readonly #programs: Programs
  readonly #random: Random
  readonly #exchanges = new Set<Exchange>()
  readonly #sockets = new Set<PageSocket>()
  #starts = 0

  constructor(name: string, world: World, story: Story, backend: Backend, programs: Programs) {
    this.name = name
    this.#world = world
    this.#story = story
    this.#backend = backend
    this.#programs = programs
    this.#random = world.stream(name)
    this.link = new Link(world, this.#random)
    this.process = this.#newProcess()
    void this.start()
  }

  /** Whether the balancer sends it requests. */
  get isUp(): boolean {
    return this.#server !== undefined
  }

  async start(): Promise<void> {
    if (this.#server || (this.#starts > 0 && !this.process.crashed)) return
    if (this.process.crashed) this.process = this.#newProcess()
    this.#starts++
    const { process, link } = this
    const program = this.#programs.server(processGlobals(process))
    const bus = this.#backend.busFor(process, link, program)
    for (;;) {
      try {
        const server = await program.createLockServer({
          store: this.#backend.storeFor(process, link, program),
          documents: this.#backend.documentsFor(process, link, program),
          bus,
          clock: process,
          settings: SETTINGS,
          log: (level, message, fields) => this.#log(level, message, fields),
        })
        if (process.crashed) return
        this.#server = server
        this.#story.tell(this.name, () => 'is up')
        return
      } catch (error) {
        this.#story.tell(this.name, () => `cannot start: ${error}`)
        await new Promise<void>((resolve) => process.setTimer(resolve, 500))
      }
    }
  }

  /** A deployment: requests are finished, sockets are told to come back. */
  async stop(): Promise<void> {
    const server = this.#server
    if (!server) return
    this.#server = undefined
    this.#story.tell(this.name, () => 'stops')
    const { process } = this
    await server.close()
    if (process === this.process) this.#end()
  }

  crash(): void {
    if (this.process.crashed) return
    this.#story.tell(this.name, () => 'crashes')
    this.#server = undefined
    this.#end()
  }

  handle(exchange: Exchange): void {
    const server = this.#server
    if (!server) {
      exchange.broken()
      return
    }
    this.#exchanges.add(exchange)
    this.process.deliver(() => {
      const { method, path, headers, body, signal } = exchange
      const url = ORIGIN + path
      const bytes = new TextEncoder().encode(body ?? '')
      const request = {
        method,
        url,
        headers: new PlainHeaders(headers),
        signal,
        arrayBuffer: async () => bytes,
      }
      const env = { incoming: { headers: { ...headers, 'content-length': String(bytes.length) }, url: path } }
      Promise.resolve(server.fetch(request as unknown as Request, env)).then(
        async (response) => {
          const text = await response.text()
          if (!this.#exchanges.delete(exchange)) return
          if (response.status === 500) this.#story.violate(`${method} ${path} was answered 500: ${text}`)
          exchange.answer({ status: response.status, headers: response.headers, text })
        },
        (error) => this.#story.violate(`${method} ${path} was not answered: ${error}`),
      )
    })
  }

  /** `null`: the node refuses. */
  accept(socket: PageSocket, query: URLSearchParams, key: string): NodeSocket | null {
    const server = this.#server
    if (!server) return null
    const { process } = this
    this.#sockets.add(socket)
    const connection = {
      send: (text: string) => this.#sockets.has(socket) && socket.receive(text),
      close: () => this.#sockets.delete(socket) && socket.end(),
    }
    const handler = server.channels.accept(connection, {
      key,
      protocol: query.get('protocol'),
      library: query.get('client'),
      client: 'a browser',
    })
    if (!handler) return null
    return {
      received: (text) => process.deliver(() => this.#sockets.has(socket) && handler.received(text)),
      closed: () => {
        this.#sockets.delete(socket)
        process.deliver(() => handler.closed())
      },
    }
  }

  #end(): void {
    this.process.crash()
    for (const exchange of this.#exchanges) exchange.broken()
    this.#exchanges.clear()
    for (const socket of this.#sockets) socket.end()
    this.#sockets.clear()
  }

  #newProcess(): SimProcess {
    const rate = 1 + this.#random.between(-NODE_DRIFT, NODE_DRIFT)
    return new SimProcess(this.#world, this.name, rate, this.#random, NODE_SKEW_MS)
  }

  #log(level: string, message: string, fields?: object): void {
    const text = `${message} ${JSON.stringify(fields)}`
    if (level === 'error' && !text.includes('simulated') && !text.includes('store-unavailable'))
      this.#story.violate(`${this.name} logs an error: ${text}`)
  }
}

export class Service {
  readonly nodes: readonly ServiceNode[]

  constructor(nodes: readonly ServiceNode[]) {
    this.nodes = nodes
  }

  /** Where the balancer sends a request. */
  node(random: Random): ServiceNode | undefined {
    const up = this.nodes.filter(({ isUp }) => isUp)
    return up.length > 0 ? random.pick(up) : undefined
  }
}
