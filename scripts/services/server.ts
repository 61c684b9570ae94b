import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from './free-port.ts'
import { type Command, KeptProcess } from './kept-process.ts'
import { cpuSecondsOf, signalTree } from './process-tree.ts'
import type { Tool } from './tools.ts'

const START_LIMIT_MS = 60_000
const PROBE_EVERY_MS = 30

/** How to find, start and check one kind of server. */
export interface ServerKind<Name extends string = ServerName> extends Tool<Launch> {
  readonly name: Name
  /** The environment variable with the address of a server to use instead. */
  readonly variable: string
  address(port: number): string
  /** Asks the server. Rejects if it does not answer. */
  version(address: string): Promise<string>
}

export type ServerName = 'redis' | 'postgres' | 'mysql' | 'nats' | 'etcd' | 'firestore'

export interface Launch {
  readonly program: string
  /** For a server that cannot be asked for its version. */
  readonly version?: string
  /** A command that runs once, in the new directory, before the first start. */
  prepare?(directory: string): Promise<Command>
  command(directory: string, port: number): Promise<Command>
}

/** A server that this process has started. It ends with this process at the latest. */
export class Server implements AsyncDisposable {
  readonly name: string
  readonly program: string
  readonly address: string
  readonly port: number
  #version = ''
  #pid = 0
  readonly #kind: ServerKind<string>
  readonly #process: KeptProcess
  readonly #command: Command

  private constructor(
    kind: ServerKind<string>,
    launch: Launch,
    kept: KeptProcess,
    command: Command,
    port: number,
  ) {
    this.name = kind.name
    this.program = launch.program
    this.address = kind.address(port)
    this.port = port
    this.#kind = kind
    this.#process = kept
    this.#command = command
  }

  static async start(kind: ServerKind<string>, launch: Launch): Promise<Server> {
    const kept = await KeptProcess.prepare(kind.name)
    try {
      const port = await freePort()
      if (launch.prepare) {
        await kept.start(await launch.prepare(kept.directory))
        if ((await kept.exit) !== 0) throw new Error(`${kind.name}: ${await kept.lastOutput()}`)
      }
      const command = await launch.command(kept.directory, port)
      const server = new Server(kind, launch, kept, command, port)
      await server.#start()
      if (launch.version) server.#version = launch.version
      return server
    } catch (error) {
      await kept[Symbol.asyncDispose]()
      throw error
    }
  }

  get version(): string {
    return this.#version
  }

  /** Crashes the server and starts it again with the same port and data. Resolves when it answers. */
  async restart(): Promise<void> {
    await this.crash()
    await this.revive()
  }

  /** Ends the server at once and leaves its data. */
  async crash(): Promise<void> {
    this.thaw()
    process.kill(this.#pid, this.#command.crashSignal)
    await this.#process.exit
  }

  /** Starts it again after a crash, with the same port and data. Resolves when it answers. */
  revive(): Promise<void> {
    return this.#start()
  }

  /** Suspends the server and its children: connections stay open, but nothing is answered. */
  freeze(): void {
    signalTree(this.#pid, 'SIGSTOP')
  }

  thaw(): void {
    signalTree(this.#pid, 'SIGCONT')
  }

  /** The processor time that the server has taken. */
  cpuSeconds(): number {
    return cpuSecondsOf(this.#pid)
  }

  /** Ends the server and removes its data. */
  stop(): Promise<void> {
    return this.#process[Symbol.asyncDispose]()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #start(): Promise<void> {
    this.#pid = await this.#process.start(this.#command)
    const exit = this.#process.exit.then(async (codeOrSignal) => {
      throw new Error(`${this.name} ended (${codeOrSignal}): ${await this.#process.lastOutput()}`)
    })
    // Only an exit before the first answer is a failure to start.
    exit.catch(() => {})
    const giveUpAt = performance.now() + START_LIMIT_MS
    for (;;) {
      try {
        this.#version = await this.#kind.version(this.address)
        return
      } catch (error) {
        if (performance.now() > giveUpAt) throw error
      }
      await Promise.race([exit, sleep(PROBE_EVERY_MS)])
    }
  }
}
