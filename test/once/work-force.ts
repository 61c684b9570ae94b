import { type ChildProcess, fork } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { join } from 'node:path'
import { HANG_MS } from '../hang-limit.ts'

export type WorkerMessage =
  | { readonly type: 'ready'; readonly port: number }
  | { readonly type: 'started'; readonly id: string; readonly attempt: number }
  | { readonly type: 'rejected'; readonly id: string; readonly code: string }

export interface WorkerSettings {
  readonly url: string
  readonly table: string
  readonly effects: string
  readonly ttl: number
}

export interface Worker {
  readonly name: string
  readonly process: ChildProcess
  readonly port: number
}

/** Real processes that take deliveries, to be killed and stopped. */
export class WorkForce extends EventEmitter<{ message: [WorkerMessage, Worker] }> {
  readonly workers: Worker[] = []
  readonly #settings: WorkerSettings
  readonly #ends: Promise<unknown>[] = []

  constructor(settings: WorkerSettings) {
    super()
    this.#settings = settings
  }

  async hire({ ttl = this.#settings.ttl } = {}): Promise<Worker> {
    const { url, table, effects } = this.#settings
    const name = `worker-${this.#ends.length + 1}`
    const child = fork(join(import.meta.dirname, 'worker.ts'), [url, table, effects, name, String(ttl)], {
      execArgv: [],
    })
    const end = once(child, 'exit')
    this.#ends.push(end)
    const died = end.then(([code]) => Promise.reject(new Error(`${name} ended with ${code}`)))
    const [ready] = (await Promise.race([once(child, 'message'), died])) as [WorkerMessage]
    if (ready.type !== 'ready') throw new Error(`expected ${name} to be ready`)
    const worker = { name, process: child, port: ready.port }
    child.on('message', (message) => this.emit('message', message as WorkerMessage, worker))
    this.workers.push(worker)
    return worker
  }

  /** As `kill -9` does: in the middle of whatever it is doing. */
  kill(worker: Worker): void {
    this.workers.splice(this.workers.indexOf(worker), 1)
    worker.process.kill('SIGKILL')
  }

  /** Kills one of them, whichever, and hires another. */
  async replaceOne(): Promise<void> {
    const victim = this.workers[Math.floor(Math.random() * this.workers.length)]
    if (victim) this.kill(victim)
    await this.hire()
  }

  /** The next message that fits, with the worker that sent it. */
  async heard(fits: (message: WorkerMessage) => boolean): Promise<Worker> {
    for await (const [message, worker] of EventEmitter.on(this, 'message', {
      signal: AbortSignal.timeout(HANG_MS),
    }))
      if (fits(message)) return worker
    throw new Error('no such message')
  }

  async dismiss(): Promise<void> {
    for (const worker of [...this.workers]) this.kill(worker)
    await Promise.all(this.#ends)
  }
}
