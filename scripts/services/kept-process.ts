import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

export interface Command {
  readonly file: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly uid?: number
  readonly gid?: number
  /** Ends the process at once and leaves its data as a crash would. */
  readonly crashSignal: NodeJS.Signals
}

export type KeeperMessage =
  | { readonly type: 'ready'; readonly directory: string }
  | { readonly type: 'started'; readonly pid: number }
  | { readonly type: 'failed'; readonly reason: string }
  | { readonly type: 'exited'; readonly with: number | NodeJS.Signals }

/** One process at a time with its own directory. A keeper ends both when this process ends. */
export class KeptProcess implements AsyncDisposable {
  readonly directory: string
  readonly #keeper: ChildProcess
  #exit: Promise<number | NodeJS.Signals> = Promise.resolve(0)

  private constructor(keeper: ChildProcess, directory: string) {
    this.#keeper = keeper
    this.directory = directory
  }

  static async prepare(name: string): Promise<KeptProcess> {
    const keeper = fork(join(import.meta.dirname, 'keeper.ts'), [name], { detached: true, execArgv: [] })
    const ready = await nextMessage(keeper, 'ready')
    return new KeptProcess(keeper, ready.directory)
  }

  /** Resolves with the process id once it runs. */
  async start(command: Command): Promise<number> {
    const started = nextMessage(this.#keeper, 'started')
    this.#exit = nextMessage(this.#keeper, 'exited').then((exited) => exited.with)
    this.#exit.catch(() => {})
    this.#keeper.send(command)
    return (await started).pid
  }

  /** The exit code or signal of the process that was started last. */
  get exit(): Promise<number | NodeJS.Signals> {
    return this.#exit
  }

  /** The last ten lines that the process printed. */
  async lastOutput(): Promise<string> {
    const text = await readFile(join(this.directory, 'server.log'), 'utf8').catch(() => '')
    return text.trimEnd().split('\n').slice(-10).join('\n')
  }

  /** Ends the process and removes the directory. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#keeper.exitCode !== null || this.#keeper.signalCode !== null) return
    const exit = once(this.#keeper, 'exit')
    if (this.#keeper.connected) this.#keeper.disconnect()
    await exit
  }
}

type Message<T extends KeeperMessage['type']> = Extract<KeeperMessage, { type: T }>

function nextMessage<T extends KeeperMessage['type']>(keeper: ChildProcess, type: T): Promise<Message<T>> {
  return new Promise((resolve, reject) => {
    const settle = () => {
      keeper.off('message', onMessage)
      keeper.off('exit', onExit)
    }
    const onMessage = (message: KeeperMessage) => {
      if (message.type !== type && message.type !== 'failed') return
      settle()
      if (message.type === 'failed') reject(new Error(message.reason))
      else resolve(message as Message<T>)
    }
    const onExit = () => {
      settle()
      reject(new Error('the keeper of the process has ended'))
    }
    keeper.on('message', onMessage)
    keeper.on('exit', onExit)
  })
}
