import { type ChildProcess, fork } from 'node:child_process'
import { extname, join } from 'node:path'
import { HANG_MS, SHOWN_ERRORS_LENGTH } from '../options.ts'
import type { WorkerMessage, WorkerOptions, WorkerOrder } from './worker.ts'

/** The path of a module of this folder, in the source or in the package. */
export function fileBeside(name: string): string {
  return join(import.meta.dirname, `${name}${extname(import.meta.filename)}`)
}

/** One worker process, seen from outside. */
export class Worker {
  readonly name: string
  readonly resource: string
  /** The tokens of the leases that it lost. */
  readonly losses = new Set<number>()
  /** By token, what came of the writes that it was ordered. */
  readonly writes = new Map<number, { readonly accepted: boolean }>()
  /** The token of its lease, until it is dealt with: let go, killed or stopped. */
  holding: number | undefined
  asking = false
  /** Whether it has asked for a lease. */
  hasStarted = false
  ended: number | NodeJS.Signals | undefined
  readonly gone: Promise<void>
  readonly #process: ChildProcess
  #errors = ''

  constructor(options: WorkerOptions, onChange: () => void) {
    this.name = options.name
    this.resource = options.resource
    this.#process = fork(fileBeside('worker'), [JSON.stringify(options)], {
      execArgv: [],
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    })
    this.#process.stderr?.on('data', (data) => {
      this.#errors = `${this.#errors}${data}`.slice(-SHOWN_ERRORS_LENGTH)
    })
    this.#process.on('message', (message: WorkerMessage) => {
      this.#hear(message)
      onChange()
    })
    this.gone = new Promise((resolve) => {
      this.#process.on('exit', (code, signal) => {
        this.ended = signal ?? code ?? 0
        onChange()
        resolve()
      })
    })
  }

  /** How it ended, and what it printed. */
  get failure(): string {
    return `${this.name} ended with ${this.ended}${this.#errors && `:\n${this.#errors}`}`
  }

  order(order: WorkerOrder): void {
    if (this.#process.connected) this.#process.send(order)
  }

  kill(): void {
    this.#forget()
    this.#process.kill('SIGKILL')
  }

  stop(): void {
    this.#forget()
    this.#process.kill('SIGSTOP')
  }

  goOn(): void {
    this.#process.kill('SIGCONT')
  }

  #hear(message: WorkerMessage): void {
    if (message.type === 'wrote') {
      this.writes.set(message.token, message)
      return
    }
    this.asking = message.type === 'asks'
    this.hasStarted ||= this.asking
    this.holding = message.type === 'holds' ? message.token : undefined
    if (message.type === 'lost') this.losses.add(message.token)
  }

  #forget(): void {
    this.holding = undefined
    this.asking = false
  }
}

/** A worker as it was when it said that it holds: it may have said something else since then. */
export interface Holder {
  readonly worker: Worker
  readonly token: number
}

/** Workers that contend for resources, and a view of what each of them does. */
export class Crew {
  readonly killed = new Set<string>()
  readonly #options: Omit<WorkerOptions, 'name' | 'resource'>
  readonly #workers = new Set<Worker>()
  readonly #gone: Promise<void>[] = []
  readonly #looks = new Set<() => void>()

  constructor(options: Omit<WorkerOptions, 'name' | 'resource'>) {
    this.#options = options
  }

  get ttl(): number {
    return this.#options.ttl
  }

  hire(resource: string): void {
    const name = `worker-${this.#gone.length + 1}`
    const onChange = () => {
      for (const look of this.#looks) look()
    }
    const worker = new Worker({ ...this.#options, resource, name }, onChange)
    this.#workers.add(worker)
    this.#gone.push(worker.gone)
  }

  /**
   * Somebody who says that he holds the resource, and who was not dealt with yet. With `after`, a later holder than
   * that token's: a message of an earlier one may still be on its way.
   */
  holder(resource: string, after = 0): Promise<Holder> {
    return this.#somebody(resource, 'holds', (worker) => {
      const { holding: token = 0 } = worker
      return token > after && { worker, token }
    })
  }

  waiter(resource: string): Promise<Worker> {
    return this.#somebody(resource, 'waits for', (worker) => worker.asking && worker)
  }

  release({ worker, token }: Holder): void {
    if (worker.holding === token) worker.holding = undefined
    worker.order({ type: 'release', token })
  }

  /** Kills a worker and hires another in its place. */
  replace(worker: Worker): void {
    this.killed.add(worker.name)
    this.#workers.delete(worker)
    worker.kill()
    this.hire(worker.resource)
  }

  /** Waits until all of them contend. The first one alone could do all that is asked of them. */
  async complete(): Promise<void> {
    await this.until('all workers ask', () => [...this.#workers].every(({ hasStarted }) => hasStarted))
  }

  /** Lets all of them end by themselves. */
  async finish(): Promise<void> {
    for (const worker of this.#workers) worker.order({ type: 'finish' })
    await this.until('all workers end', () => [...this.#workers].every((worker) => worker.ended === 0))
  }

  async killAll(): Promise<void> {
    for (const worker of this.#workers) worker.kill()
    await Promise.all(this.#gone)
  }

  #somebody<T>(resource: string, does: string, look: (worker: Worker) => T | false): Promise<T> {
    return this.until(`somebody ${does} ${resource}`, () => {
      for (const worker of this.#workers) {
        const found = worker.resource === resource && look(worker)
        if (found) return found
      }
      return false
    })
  }

  /** Looks again whenever a worker says something. */
  until<T>(what: string, look: () => T | undefined | false): Promise<T> {
    const hangMs = HANG_MS + 20 * this.ttl
    return new Promise((resolve, reject) => {
      const settle = (act: () => void) => {
        clearTimeout(timer)
        this.#looks.delete(check)
        act()
      }
      const check = () => {
        const failed = [...this.#workers].find((worker) => worker.ended !== undefined && worker.ended !== 0)
        const found = look()
        if (failed) settle(() => reject(new Error(failed.failure)))
        else if (found) settle(() => resolve(found))
      }
      const timer = setTimeout(() => {
        settle(() => reject(new Error(`expected within ${hangMs} ms that ${what}`)))
      }, hangMs)
      this.#looks.add(check)
      check()
    })
  }
}
