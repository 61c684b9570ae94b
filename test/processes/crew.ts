import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import type { WorkerMessage, WorkerOptions, WorkerOrder } from './worker.ts'

/** Nothing that a worker is waited for may take longer. */
const PATIENCE_MS = 40_000

type Holding = Extract<WorkerMessage, { type: 'holds' }>
type Loss = Extract<WorkerMessage, { type: 'lost' }>

/** One worker process, seen from outside. */
export class Worker {
  readonly name: string
  readonly resource: string
  readonly losses: Loss[] = []
  /** Until it is dealt with: let go, killed or stopped. */
  holding: Holding | undefined
  asking = false
  ended: number | NodeJS.Signals | undefined
  readonly gone: Promise<void>
  readonly #process: ChildProcess

  constructor(options: WorkerOptions, onChange: () => void) {
    this.name = options.name
    this.resource = options.resource
    this.#process = fork(join(import.meta.dirname, 'worker.ts'), [JSON.stringify(options)], { execArgv: [] })
    this.#process.on('message', (message: WorkerMessage) => {
      this.asking = message.type === 'asks'
      this.holding = message.type === 'holds' ? message : undefined
      if (message.type === 'lost') this.losses.push(message)
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

  order(order: WorkerOrder): void {
    if (this.#process.connected) this.#process.send(order)
  }

  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
    this.holding = undefined
    this.asking = false
    this.#process.kill(signal)
  }
}

/** Workers that contend for resources, and a view of what each of them does. */
export class Crew {
  readonly killed = new Set<string>()
  readonly #options: Omit<WorkerOptions, 'name' | 'resource'>
  readonly #workers = new Set<Worker>()
  readonly #looks = new Set<() => void>()
  #hired = 0

  constructor(options: Omit<WorkerOptions, 'name' | 'resource'>) {
    this.#options = options
  }

  hire(resource: string): void {
    const name = `worker-${++this.#hired}`
    const onChange = () => {
      for (const look of this.#looks) look()
    }
    this.#workers.add(new Worker({ ...this.#options, resource, name }, onChange))
  }

  /**
   * Somebody who says that he holds the resource, and who was not dealt with yet. With `after`, a later holder than
   * that token's: a message of an earlier one may still be on its way.
   */
  holder(resource: string, after = 0): Promise<Worker> {
    return this.#somebody(resource, 'holds', ({ holding }) => holding !== undefined && holding.token > after)
  }

  waiter(resource: string): Promise<Worker> {
    return this.#somebody(resource, 'waits for', (worker) => worker.asking)
  }

  release(worker: Worker): void {
    const { holding } = worker
    worker.holding = undefined
    if (holding) worker.order({ type: 'release', token: holding.token })
  }

  /** Kills a worker and hires another in its place. */
  replace(worker: Worker): void {
    this.killed.add(worker.name)
    this.#workers.delete(worker)
    worker.signal('SIGKILL')
    this.hire(worker.resource)
  }

  /** Lets all of them end by themselves. */
  async finish(): Promise<void> {
    for (const worker of this.#workers) worker.order({ type: 'finish' })
    await this.until('all workers end', () => [...this.#workers].every((worker) => worker.ended === 0))
  }

  async killAll(): Promise<void> {
    for (const worker of this.#workers) worker.signal('SIGKILL')
    await Promise.all([...this.#workers].map((worker) => worker.gone))
  }

  #somebody(resource: string, does: string, look: (worker: Worker) => boolean): Promise<Worker> {
    return this.until(`somebody ${does} ${resource}`, () =>
      [...this.#workers].find((worker) => worker.resource === resource && look(worker)),
    )
  }

  /** Looks again whenever a worker says something. */
  until<T>(what: string, look: () => T | undefined | false): Promise<T> {
    return new Promise((resolve, reject) => {
      const settle = (act: () => void) => {
        clearTimeout(timer)
        this.#looks.delete(check)
        act()
      }
      const check = () => {
        const failed = [...this.#workers].find((worker) => worker.ended !== undefined && worker.ended !== 0)
        const found = look()
        if (failed) settle(() => reject(new Error(`${failed.name} ended with ${failed.ended}`)))
        else if (found) settle(() => resolve(found))
      }
      const timer = setTimeout(() => {
        settle(() => reject(new Error(`expected within ${PATIENCE_MS} ms that ${what}`)))
      }, PATIENCE_MS)
      this.#looks.add(check)
      check()
    })
  }
}
