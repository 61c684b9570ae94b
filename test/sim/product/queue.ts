import type { Random } from '../world.ts'
import { Link } from './link.ts'
import type { Stage } from './stage.ts'

/** A message that is not answered in this time is delivered again, also if its first delivery is still being worked on. */
const ANSWER_WITHIN_MS = 8000
const RETRY_MS = [300, 3000] as const

export interface Delivering {
  readonly isUp: boolean
  /** Ends with the status of the response. It never ends if the worker crashes. */
  deliver(id: string, answer: (status: number) => void): void
}

/** A queue that delivers each message until it is accepted, and sometimes once more. */
export class Queue {
  readonly link: Link
  readonly #stage: Stage
  readonly #random: Random
  readonly #workers: () => readonly Delivering[]
  readonly #waiting = new Set<string>()

  constructor(stage: Stage, workers: () => readonly Delivering[]) {
    this.#stage = stage
    this.#random = stage.world.stream('queue')
    this.#workers = workers
    this.link = new Link(stage.world, stage.world.stream("queue's network"))
  }

  /** The messages that nobody has accepted yet. */
  get waiting(): readonly string[] {
    return [...this.#waiting]
  }

  push(id: string): void {
    this.#waiting.add(id)
    this.#deliver(id)
  }

  #deliver(id: string): void {
    const { world, story } = this.#stage
    const { link } = this
    if (!this.#waiting.has(id)) return
    const up = this.#workers().filter(({ isUp }) => isUp)
    if (up.length === 0) {
      this.#again(id)
      return
    }
    const worker = this.#random.pick(up)
    let isAnswered = false
    const once = (end: () => void) => {
      if (!isAnswered) end()
      isAnswered = true
    }
    world.after(ANSWER_WITHIN_MS, () =>
      once(() => {
        story.reach('queue: no answer in time')
        this.#again(id)
      }),
    )
    const answer = (status: number) => {
      if (link.fate() !== 'arrives') return story.reach('queue: a response is lost')
      link.send(() => {
        story.reach(`queue: ${status}`)
        if (status === 200) this.#waiting.delete(id)
        else once(() => this.#again(id))
      })
    }
    if (link.isDoubled()) {
      story.reach('queue: a message is doubled')
      link.send(() => link.send(() => this.#random.pick(up).deliver(id, () => {})))
    }
    if (link.fate() === 'arrives') link.send(() => worker.deliver(id, answer))
    else story.reach('queue: a message is lost')
  }

  #again(id: string): void {
    this.#stage.world.after(this.#random.between(...RETRY_MS), () => this.#deliver(id))
  }
}
