import { type JobRun, outcomeViolations, runViolations } from '../../../src/testing/history/index.ts'
import type { Link } from './link.ts'
import type { Part } from './part.ts'
import type { JobTrouble, Trouble } from './plan.ts'
import { Queue } from './queue.ts'
import type { Stage } from './stage.ts'
import { JOB_KINDS, JOB_STEPS, type JobRecord, kindOf, MAX_ATTEMPTS, Worker } from './worker.ts'

const NAMES = ['worker 1', 'worker 2', 'worker 3']
const HOUR_MS = 3_600_000
const LOOK_MS = 500
/** In calm weather, every job is finished and every caller has an answer within this time. */
const PATIENCE_MS = 120_000
/** `close` waits for the requests under way. */
const CLOSED_WITHIN_MS = 15_000
/** A caller asks again, perhaps another worker. */
const ASK_AGAIN_MS = 12_000

interface Caller {
  readonly id: string
  readonly payload: number
  answer: string | null
}

/** Workers that run jobs once, a queue that delivers them again and again, and callers who ask for results. */
export class JobsPart implements Part {
  readonly #stage: Stage
  readonly #workers: readonly Worker[]
  readonly #queue: Queue
  readonly #record: JobRecord = { runs: [] }
  readonly #ids: string[] = []
  readonly #callers: Caller[] = []

  constructor(stage: Stage) {
    const { workers = 1 } = stage.plan.jobs ?? {}
    this.#stage = stage
    this.#workers = NAMES.slice(0, workers).map((name) => new Worker(name, stage, this.#record))
    this.#queue = new Queue(stage, () => this.#workers)
  }

  get insideLinks(): Link[] {
    return this.#workers.map(({ link }) => link)
  }

  get outsideLinks(): Link[] {
    return [this.#queue.link]
  }

  start(): void {
    const { world, plan } = this.#stage
    for (let n = 1; n <= (plan.jobs?.jobs ?? 0); n++) {
      const random = world.stream(`job ${n}`)
      const kind = random.pick(JOB_KINDS)
      const id = `${kind} ${n}`
      this.#ids.push(id)
      const at = random.between(0, plan.stormMs * 0.8)
      if (kind !== 'result') world.after(at, () => this.#queue.push(id))
      else
        for (let callers = random.pick([1, 2, 4]); callers > 0; callers--) {
          const caller: Caller = { id, payload: random.chance(0.2) ? 2 : 1, answer: null }
          this.#callers.push(caller)
          world.after(at + random.pick([0, 0, 300, 3000]), () => this.#ask(caller))
        }
    }
  }

  meet({ kind, ms, whom }: Trouble): boolean {
    const stage = this.#stage
    const worker = this.#workers[Math.floor(whom * this.#workers.length)] as Worker
    switch (kind as JobTrouble) {
      case 'a worker crashes':
        if (!worker.isUp) return false
        worker.crash()
        stage.later(ms, () => worker.start())
        return true
      case 'a worker crashes in its next work':
        worker.crashAt(JOB_STEPS[Math.floor(((whom * 1000) % 1) * JOB_STEPS.length)] ?? 'working', () =>
          stage.later(ms, () => worker.start()),
        )
        return true
      case 'a worker is deployed':
        if (!worker.isUp || !worker.process.running) return false
        void worker
          .stop()
          .then(() => (stage.isStormy ? stage.later(ms, () => worker.start()) : worker.start()))
        return true
      case 'a worker stands still':
      case 'the machine of a worker sleeps': {
        if (!worker.process.running) return false
        const isAsleep = kind === 'the machine of a worker sleeps'
        stage.tellTrouble(worker.name, isAsleep ? 'sleeps' : 'stands still', ms)
        worker.standStill(isAsleep)
        stage.later(ms, () => worker.resume())
        return true
      }
      case 'a worker is cut off from the database':
        stage.tellTrouble(worker.name, 'is cut off from the database', ms)
        worker.link.hold(ms)
        return true
      case 'a clock of a worker jumps':
        stage.tellTrouble(worker.name, 'has a clock that jumps', 0)
        worker.process.jump(HOUR_MS * stage.world.stream(`jump ${stage.world.now}`).between(0, 1))
        return true
      case 'the database is cut off':
        return false
    }
  }

  calm(): void {
    for (const worker of this.#workers) {
      worker.resume()
      worker.start()
    }
  }

  async settle(): Promise<void> {
    const { story } = this.#stage
    const waiting = () => [
      ...this.#queue.waiting,
      ...this.#callers.filter(({ answer }) => answer === null).map(({ id }) => `a caller of ${id}`),
    ]
    if (!(await this.#stage.until(() => waiting().length === 0, PATIENCE_MS, LOOK_MS)))
      for (const who of waiting()) story.violate(`${who} still waits ${PATIENCE_MS} ms after the trouble`)
    for (const id of this.#ids) await this.#compare(id)
    this.#compareCallers()
  }

  async close(): Promise<void> {
    let open = this.#workers.length
    for (const worker of this.#workers) void worker.stop().then(() => open--)
    if (!(await this.#stage.until(() => open === 0, CLOSED_WITHIN_MS, LOOK_MS)))
      this.#stage.story.violate('close() of a worker did not end')
  }

  judge(): void {
    const { story, backend } = this.#stage
    for (const violation of runViolations(this.#record.runs, this.#ids)) story.violate(violation)
    for (const violation of outcomeViolations(backend.jobLocks, backend.outcomes)) story.violate(violation)
  }

  #ask(caller: Caller): void {
    const { world } = this.#stage
    if (caller.answer !== null) return
    const random = world.stream(`${caller.id} at ${world.now}`)
    const { link } = this.#queue
    world.after(ASK_AGAIN_MS, () => this.#ask(caller))
    link.send(() =>
      random.pick(this.#workers).ask(caller.id, caller.payload, (answer) => {
        if (link.fate() === 'arrives')
          link.send(() => {
            caller.answer ??= answer
          })
      }),
    )
  }

  /** The job is finished, as those say who finished it, and its effect has happened once. */
  async #compare(id: string): Promise<void> {
    const { backend, story } = this.#stage
    const job = await backend.jobs.read(id)
    if (!job?.finished) {
      // A caller with no answer is reported already.
      if (kindOf(id) !== 'result') story.violate(`${id} is not finished: ${JSON.stringify(job)}`)
      return
    }
    const { runs } = this.#record
    const ofJob = runs.filter((run) => run.job === id)
    const isGivenUp = job.error !== null && job.attempts >= MAX_ATTEMPTS
    if (kindOf(id) === 'transaction') {
      const times = backend.outcomes.filter((outcome) => outcome.job === id).length
      if (times !== (isGivenUp ? 0 : 1)) story.violate(`the effect of ${id} happened ${times} times`)
    }
    if (job.error !== null && kindOf(id) !== 'broken' && !isGivenUp)
      story.violate(`${id} has failed: ${job.error}`)
    if (isGivenUp) story.reach('job: given up')
    const { token } = Object(job.result) as { token?: number }
    const finished = ofJob.find((run) => run.finished < Infinity)
    if (token !== undefined && !ofJob.some((run) => run.token === token))
      story.violate(`the result of ${id} has the token ${token}, with which nobody ran it`)
    if (finished && token !== undefined && finished.token !== token)
      story.violate(`${id} has the result of token ${token}, and ${nameOf(finished)} finished it`)
  }

  /** Those who asked for the same have the same result, and those who asked for something else have none. */
  #compareCallers(): void {
    const { story } = this.#stage
    for (const [id, callers] of Map.groupBy(this.#callers, (caller) => caller.id)) {
      const results = callers.filter(({ answer }) => answer !== null && answer !== 'mismatch')
      const different = new Set(results.map(({ answer }) => answer))
      if (different.size > 1) story.violate(`callers of ${id} got ${[...different].join(' and ')}`)
      for (const { payload, answer } of results)
        if (JSON.parse(String(answer)).payload !== payload)
          story.violate(`a caller of ${id} asked for ${payload} and got ${answer}`)
      const chosen = new Set(results.map(({ payload }) => payload))
      for (const { payload, answer } of callers)
        if (answer === 'mismatch' && chosen.has(payload))
          story.violate(`a caller of ${id} with the payload ${payload} was refused, and another one was not`)
    }
  }
}

function nameOf({ worker, token }: JobRun): string {
  return `${worker} with token ${token}`
}
