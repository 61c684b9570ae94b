import type { Once, RunningJob, TaskHandler } from '../../../src/once/index.ts'
import type { JobRun } from '../../../src/testing/history/index.ts'
import { SimProcess } from '../process.ts'
import type { Random } from '../world.ts'
import { PlainRequest, processGlobals } from './globals.ts'
import { Link } from './link.ts'
import type { WorkerProgram } from './programs.ts'
import type { Delivering } from './queue.ts'
import type { Stage } from './stage.ts'

export const JOB_TTL_MS = 5000
const LONGEST_STEP_MS = 2500
/** A job that was started this often and never finished is given up. */
export const MAX_ATTEMPTS = 6

/** What the work of a job does. It is the first word of the id. */
export const JOB_KINDS = ['plain', 'transaction', 'flaky', 'broken', 'result'] as const
export type JobKind = (typeof JOB_KINDS)[number]

export function kindOf(id: string): JobKind {
  return id.split(' ')[0] as JobKind
}

/** How far a start of work may be when its worker crashes. */
export const JOB_STEPS = [
  'working',
  'beginning a transaction',
  'in a transaction',
  'committing',
  'finishing',
] as const
type JobStep = (typeof JOB_STEPS)[number]

/** A start of work, and how far it is. */
interface Start extends JobRun {
  readonly signal: AbortSignal
  isOver: boolean
  step: JobStep
}

/** What was carried out, outside of what is judged. */
export interface JobRecord {
  readonly runs: JobRun[]
}

/** A process that runs jobs. The queue delivers to its task handler; callers ask it for results. */
export class Worker implements Delivering {
  readonly name: string
  readonly link: Link
  process: SimProcess
  #once: Once | undefined
  #handle: TaskHandler | undefined
  #program: WorkerProgram | undefined
  #underWay: Start[] = []
  #isStopping = false
  #asleepFrom = Infinity
  #crashAt: { readonly step: JobStep; readonly crashed: () => void } | undefined
  readonly #stage: Stage
  readonly #record: JobRecord
  readonly #random: Random

  constructor(name: string, stage: Stage, record: JobRecord) {
    const { world } = stage
    this.name = name
    this.#stage = stage
    this.#record = record
    this.#random = world.stream(name)
    this.link = new Link(world, world.stream(`${name}'s network`))
    this.process = this.#newProcess()
    this.start()
  }

  get isUp(): boolean {
    return this.#once !== undefined
  }

  start(): void {
    if (this.#once || this.#isStopping) return
    if (this.process.crashed) this.process = this.#newProcess()
    const { process, link, name } = this
    const { programs, backend, story } = this.#stage
    const program = programs.worker(processGlobals(process))
    const once = program.createOnce(backend.jobsFor(process, link, program), {
      worker: name,
      ttl: JOB_TTL_MS,
      maxAttempts: MAX_ATTEMPTS,
      clock: process,
      onWarning: () => {},
    })
    this.#program = program
    this.#once = once
    this.#handle = program.createTaskHandler(once, {
      work: (job) => this.#work(job),
      add: true,
      authorize: 'everyone',
      retryAfter: 1000,
      onError: (error) => this.#noteError(error),
    })
    story.tell(name, () => 'is up')
  }

  /** A deployment: its works are asked to stop, and end. */
  async stop(): Promise<void> {
    const once = this.#once
    if (!once) return
    const { process } = this
    this.#once = undefined
    this.#stage.story.tell(this.name, () => 'stops')
    this.#isStopping = true
    await once.close()
    this.#isStopping = false
    if (process === this.process) this.#end()
  }

  crash(): void {
    if (this.process.crashed) return
    const { story } = this.#stage
    story.tell(this.name, () => 'crashes')
    for (const { step } of this.#underWay) story.reach(`crash: ${step}`)
    this.#once = undefined
    this.#isStopping = false
    this.#end()
  }

  /** Crashes a moment after the next work has come to this step. */
  crashAt(step: JobStep, crashed: () => void): void {
    this.#crashAt = { step, crashed }
  }

  standStill(isAsleep: boolean): void {
    // What stands still does not work. Whether it may go on is seen when it does.
    const { now } = this.#stage.world
    for (const run of this.#underWay) run.workEnd = Math.min(run.workEnd, now)
    if (isAsleep) this.#asleepFrom = Math.min(this.#asleepFrom, now)
    this.process.stop(isAsleep)
  }

  resume(): void {
    if (this.process.running) return
    const { world } = this.#stage
    const stopped = this.#underWay
    // The timers of a machine that slept are late: its works hear of the loss with the next heartbeat.
    const mayHaveLost = world.now - this.#asleepFrom > JOB_TTL_MS / 2
    this.#asleepFrom = Infinity
    this.process.resume()
    if (mayHaveLost) return
    world.after(1, () => {
      for (const run of stopped) if (this.#underWay.includes(run) && !run.isOver) run.workEnd = Infinity
    })
  }

  deliver(id: string, answer: (status: number) => void): void {
    const [handle, { process }, { story }] = [this.#handle, this, this.#stage]
    if (!this.isUp || !handle) return
    process.deliver(() => {
      const request = new PlainRequest('http://worker/task', { method: 'POST', body: JSON.stringify({ id }) })
      story.tell(this.name, () => `gets ${id} from the queue`)
      handle(request as unknown as Request).then(
        async (response) => {
          const text = await response.text()
          story.tell(this.name, () => `answers ${response.status} ${text} for ${id}`)
          story.reach(`task: ${response.status} ${text.replace(/\W+/g, ' ').trim()}`)
          if (text.includes('"done"')) this.#finished(id)
          answer(response.status)
        },
        (error) => story.violate(`${this.name} does not answer the delivery of ${id}: ${error}`),
      )
    })
  }

  /** The result for a caller, as text; `null`: the caller is to ask again. */
  ask(id: string, payload: number, answer: (result: string | null) => void): void {
    const [once, { process }, { story }] = [this.#once, this, this.#stage]
    if (!once) {
      answer(null)
      return
    }
    process.deliver(() => {
      once
        .result(id, (job) => this.#work(job, payload), { payload, wait: 6000, maxAttempts: undefined })
        .then(
          ({ ran, result }) => {
            story.reach(`result: ${ran ? 'ran' : 'kept'}`)
            if (ran) this.#finished(id)
            answer(JSON.stringify(result))
          },
          (error) => {
            this.#noteError(error)
            answer(Object(error).code === 'payload-mismatch' ? 'mismatch' : null)
          },
        )
    })
  }

  async #work({ id, token, attempt, signal, complete }: RunningJob, payload?: number): Promise<unknown> {
    const { world, story } = this.#stage
    const run: Start = {
      job: id,
      worker: this.name,
      token,
      start: world.now,
      workEnd: Infinity,
      finished: Infinity,
      signal,
      isOver: false,
      step: 'working',
    }
    this.#record.runs.push(run)
    this.#underWay.push(run)
    story.tell(this.name, () => `begins ${id} with token ${token}, attempt ${attempt}`)
    const end = () => {
      run.isOver = true
      run.workEnd = Math.min(run.workEnd, world.now)
    }
    signal.addEventListener('abort', end)
    this.#enter(run, 'working')
    try {
      for (let steps = this.#random.pick([0, 1, 1, 4]); steps > 0; steps--) {
        await this.#sleep(this.#random.between(0, LONGEST_STEP_MS))
        signal.throwIfAborted()
      }
      const kind = kindOf(id)
      if (kind === 'broken') throw new Error(`${id} cannot be done`)
      if (kind === 'flaky' && attempt < 3) throw Object.assign(new Error('not now'), { retryable: true })
      const result = { of: id, payload: payload ?? null, token }
      return kind === 'transaction' ? await this.#inTransaction(run, result, complete) : result
    } finally {
      end()
      this.#enter(run, 'finishing')
      story.tell(this.name, () => `ends the work of ${id}`)
      // Until the outcome is acknowledged, a crash is one of a worker that finishes.
      void this.#sleep(JOB_TTL_MS).then(() => this.#forget(run))
    }
  }

  /** As applications do, the transaction is repeated if its COMMIT has no answer. */
  async #inTransaction(run: Start, result: object, complete: RunningJob['complete']): Promise<unknown> {
    try {
      return await this.#transact(run, result, complete)
    } catch (error) {
      if (Object(error).code !== 'store-unavailable' || run.step !== 'committing') throw error
      this.#stage.story.reach('transaction: repeated')
      return await this.#transact(run, result, complete)
    }
  }

  async #transact(run: Start, result: object, complete: RunningJob['complete']): Promise<unknown> {
    const { backend, story } = this.#stage
    const { job, token } = run
    this.#enter(run, 'beginning a transaction')
    const open = await backend.beginFor(this.process, this.link, this.#program as WorkerProgram)
    this.#enter(run, 'in a transaction')
    open.tx.onCommit(() => backend.noteEffect(open.tx, job, token))
    await complete(open, result)
    // Sometimes the work goes on after it has completed its job.
    await this.#sleep(this.#random.pick([0, 0, 300]))
    if (this.#random.chance(0.1)) {
      story.reach('transaction: rolled back')
      throw Object.assign(new Error('rolled back'), { retryable: true })
    }
    this.#enter(run, 'committing')
    await open.commit().then(
      () => story.reach('transaction: committed'),
      (error) => {
        story.reach(`transaction: commit ${error.code}`)
        throw error
      },
    )
    return result
  }

  #enter(run: Start, step: JobStep): void {
    const { world, story, plan } = this.#stage
    run.step = step
    if (this.#crashAt?.step !== step || this.process.crashed) return
    const { crashed } = this.#crashAt
    this.#crashAt = undefined
    const { process } = this
    world.after(this.#random.between(0, 2 * plan.inside.delay[1]), () => {
      if (!this.#stage.isStormy || process !== this.process) return
      story.reach(`crash: after ${step}`)
      this.crash()
      crashed()
    })
  }

  #finished(id: string): void {
    const { world, story } = this.#stage
    const run = this.#record.runs.findLast((other) => other.job === id && other.worker === this.name)
    if (!run) {
      story.violate(`${this.name} has finished ${id}, and never began it`)
      return
    }
    run.finished = Math.min(run.finished, world.now)
    this.#forget(run)
  }

  #forget(run: JobRun): void {
    this.#underWay = this.#underWay.filter((other) => other !== run)
  }

  #noteError(error: unknown): void {
    const { story } = this.#stage
    const { code, message } = Object(error)
    story.tell(this.name, () => `is told: ${message}`)
    story.reach(`once: ${code ?? (Object(error).retryable ? 'a retryable error' : 'an error of the work')}`)
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.process.setTimer(resolve, ms))
  }

  #end(): void {
    this.process.crash()
    for (const run of this.#underWay) run.workEnd = Math.min(run.workEnd, this.#stage.world.now)
    this.#underWay = []
  }

  #newProcess(): SimProcess {
    const rate = 1 + this.#random.between(-0.005, 0.005)
    return new SimProcess(this.#stage.world, this.name, rate, this.#random)
  }
}
