import { type ChildProcess, fork } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { join } from 'node:path'
import { HANG_MS } from '../hang-limit.ts'

export type WorkerMessage =
  | { readonly type: 'ready'; readonly port: number }
  | { readonly type: 'doomed'; readonly id: string }
  | { readonly type: 'started'; readonly id: string; readonly attempt: number }
  | { readonly type: 'rejected'; readonly id: string; readonly code: string }

export interface WorkerSettings {
  readonly url: string
  readonly table: string
  readonly effects: string
  readonly ttl: number
  /** The program of the workers. Default `worker.ts`. */
  readonly program?: string
}

export interface Worker {
  readonly name: string
  readonly process: ChildProcess
  readonly port: number
}

/** Real processes that take deliveries. A test can kill and stop them. */
export class WorkerProcesses extends EventEmitter<{ message: [WorkerMessage, Worker] }> {
  readonly workers: Worker[] = []
  readonly #settings: WorkerSettings
  readonly #exits: Promise<unknown>[] = []

  constructor(settings: WorkerSettings) {
    super()
    this.#settings = settings
  }

  async start({ ttl = this.#settings.ttl } = {}): Promise<Worker> {
    const { url, table, effects, program = 'worker.ts' } = this.#settings
    const name = `worker-${this.#exits.length + 1}`
    const child = fork(join(import.meta.dirname, program), [url, table, effects, name, String(ttl)], {
      execArgv: [],
    })
    const exit = once(child, 'exit')
    this.#exits.push(exit)
    const died = exit.then(([code]) => Promise.reject(new Error(`${name} ended with ${code}`)))
    const [ready] = (await Promise.race([once(child, 'message'), died])) as [WorkerMessage]
    if (ready.type !== 'ready') throw new Error(`expected ${name} to be ready`)
    const worker = { name, process: child, port: ready.port }
    child.on('message', (message) => this.emit('message', message as WorkerMessage, worker))
    this.workers.push(worker)
    return worker
  }

  /** Like `kill -9`, in the middle of its work. */
  kill(worker: Worker): void {
    const index = this.workers.indexOf(worker)
    if (index >= 0) this.workers.splice(index, 1)
    worker.process.kill('SIGKILL')
  }

  /** Kills a random worker and starts another. */
  async replaceOne(): Promise<void> {
    const victim = this.workers[Math.floor(Math.random() * this.workers.length)]
    if (victim) this.kill(victim)
    await this.start()
  }

  /** The worker that sends the next message that matches. */
  async senderOf(matches: (message: WorkerMessage) => boolean): Promise<Worker> {
    for await (const [message, worker] of EventEmitter.on(this, 'message', {
      signal: AbortSignal.timeout(HANG_MS),
    }))
      if (matches(message)) return worker
    throw new Error('no such message')
  }

  async killAll(): Promise<void> {
    for (const worker of [...this.workers]) this.kill(worker)
    await Promise.all(this.#exits)
  }
}
