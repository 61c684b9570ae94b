import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { FakeTime } from './fake-time.ts'
import { FaultyLink } from './faulty-link.ts'
import type { Namespace } from './namespace.ts'
import type { Counts, WorkedResource, WorkerMessage, WorkerOptions, WorkerOrder } from './worker.ts'

/** Enough for a stack trace. */
const ERRORS_LENGTH = 4000
/** A worker that has been told to finish closes its leases and its client within this time. */
const FINISH_LIMIT_MS = 120_000
const LOOK_EVERY_MS = 20

export interface CrewOptions {
  readonly workers: number
  readonly ttl: number
  readonly resources: readonly WorkedResource[]
  readonly directory: string
  /** The ports of the servers, and the address of the store from those of the links to them. */
  readonly targets: readonly number[]
  address(links: readonly string[]): string
  /** One for each worker, or none. */
  readonly namespaces: readonly Namespace[]
  /** The path of libfaketime. Absent: the clocks of workers do not jump. */
  readonly fakeTime?: string | undefined
  readonly seed: number
}

/** The place of a worker: its network and its clock stay when it is killed and another takes its place. */
export class Seat {
  readonly links: readonly FaultyLink[]
  readonly namespace: Namespace | undefined
  readonly time: FakeTime | undefined
  worker: Worker | undefined

  constructor(links: readonly FaultyLink[], namespace: Namespace | undefined, time: FakeTime | undefined) {
    this.links = links
    this.namespace = namespace
    this.time = time
  }
}

export class Crew implements AsyncDisposable {
  readonly seats: Seat[] = []
  /** What went wrong with the processes themselves. */
  readonly problems: string[] = []
  readonly #options: CrewOptions
  readonly #stack = new AsyncDisposableStack()
  readonly #gone: Worker[] = []

  private constructor(options: CrewOptions) {
    this.#options = options
  }

  static async hire(options: CrewOptions): Promise<Crew> {
    const crew = new Crew(options)
    try {
      for (let n = 0; n < options.workers; n++) crew.seats.push(await crew.#seat(n))
      for (const seat of crew.seats) crew.#fill(seat)
      return crew
    } catch (error) {
      await crew[Symbol.asyncDispose]()
      throw error
    }
  }

  get logPath(): string {
    return join(this.#options.directory, 'log')
  }

  get guardPath(): string {
    return join(this.#options.directory, 'guarded.db')
  }

  get counts(): Counts {
    const sum: Counts = { calls: 0, failedCalls: 0, grants: 0, losses: 0, writes: 0, refusedWrites: 0 }
    for (const { counts } of this.#all())
      for (const key of Object.keys(sum) as (keyof Counts)[]) sum[key] += counts[key]
    return sum
  }

  kill(seat: Seat): void {
    const { worker } = seat
    if (!worker) return
    worker.kill()
    this.#gone.push(worker)
    seat.worker = undefined
  }

  replace(seat: Seat): void {
    this.#fill(seat)
  }

  /** Resolves when each worker was granted a lease since then. `false`: not within the limit. */
  async allGranted(since: number, limitMs: number): Promise<boolean> {
    const giveUpAt = performance.now() + limitMs
    const late = () => this.seats.some(({ worker }) => worker && worker.lastGrantAt < since)
    while (late()) {
      if (performance.now() > giveUpAt || this.#note()) return false
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
    }
    return true
  }

  /** Lets all of them end by themselves. */
  async finish(): Promise<void> {
    const workers = this.seats.flatMap(({ worker }) => worker ?? [])
    for (const worker of workers) worker.order('finish')
    await Promise.all(
      workers.map(async (worker) => {
        let timer: NodeJS.Timeout | undefined
        const late = new Promise((resolve) => {
          timer = setTimeout(resolve, FINISH_LIMIT_MS, 'late')
        })
        if ((await Promise.race([worker.gone, late])) === 'late')
          this.problems.push(`${worker.name} did not end within ${FINISH_LIMIT_MS} ms`)
        clearTimeout(timer)
      }),
    )
    this.#note()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const seat of this.seats) this.kill(seat)
    await Promise.all(this.#gone.map(({ gone }) => gone))
    await this.#stack.disposeAsync()
  }

  async #seat(n: number): Promise<Seat> {
    const { namespaces, targets, fakeTime, directory } = this.#options
    const namespace = namespaces[n]
    const links: FaultyLink[] = []
    for (const target of targets)
      links.push(this.#stack.use(await FaultyLink.open(target, namespace?.hostAddress)))
    const time = fakeTime ? await FakeTime.create(fakeTime, join(directory, `clock-${n}`)) : undefined
    return new Seat(links, namespace, time)
  }

  #fill(seat: Seat): void {
    const { ttl, resources, seed, address } = this.#options
    const number = this.#all().length + 1
    seat.worker = new Worker(seat, {
      name: `worker-${number}`,
      address: address(seat.links.map((link) => link.address)),
      ttl,
      resources,
      seed: seed + 1000 * number,
      logPath: this.logPath,
      guardPath: this.guardPath,
    })
  }

  /** Whether one has failed. */
  #note(): boolean {
    for (const worker of this.#all()) {
      const failure = worker.takeFailure()
      if (failure) this.problems.push(failure)
    }
    return this.problems.length > 0
  }

  #all(): Worker[] {
    return [...this.#gone, ...this.seats.flatMap(({ worker }) => worker ?? [])]
  }
}

/** One worker process, seen from outside. */
export class Worker {
  readonly name: string
  readonly gone: Promise<void>
  lastGrantAt = 0
  counts: Counts = { calls: 0, failedCalls: 0, grants: 0, losses: 0, writes: 0, refusedWrites: 0 }
  readonly #process: ChildProcess
  #failures: string[] = []
  #output = ''
  #isKilled = false

  constructor({ namespace, time }: Seat, options: WorkerOptions) {
    this.name = options.name
    const args = [join(import.meta.dirname, 'worker.ts'), JSON.stringify(options)]
    const command = namespace?.command(process.execPath, args) ?? { file: process.execPath, args }
    this.#process = spawn(command.file, command.args, {
      env: { ...process.env, ...time?.env },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.#process.stderr?.on('data', (data) => {
      this.#output = `${this.#output}${data}`.slice(-ERRORS_LENGTH)
    })
    this.#process.on('message', (message: WorkerMessage) => {
      if (message.type === 'granted') this.lastGrantAt = performance.now()
      else if (message.type === 'counts') this.counts = message.counts
      else this.#failures.push(`${this.name}: ${message.text}`)
    })
    this.gone = new Promise((resolve) => {
      this.#process.once('error', (error) => {
        this.#failures.push(`${this.name} was not started: ${error.message}`)
        resolve()
      })
      this.#process.once('exit', (code, signal) => {
        if (code !== 0 && !this.#isKilled)
          this.#failures.push(`${this.name} ended with ${signal ?? code}: ${this.#output}`)
        resolve()
      })
    })
  }

  order(order: WorkerOrder): void {
    if (this.#process.connected) this.#process.send(order)
  }

  kill(): void {
    this.#isKilled = true
    this.#process.kill('SIGKILL')
  }

  stop(): void {
    this.#process.kill('SIGSTOP')
  }

  goOn(): void {
    this.#process.kill('SIGCONT')
  }

  /** The next thing that went wrong, which is then forgotten. */
  takeFailure(): string | undefined {
    return this.#failures.shift()
  }
}
