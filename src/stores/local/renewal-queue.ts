import type { Clock } from '../../base/clock.ts'
import type { Running, Work } from './calls.ts'
import { MAX_RENEWALS_UNDER_WAY } from './options.ts'

/**
 * The renewals of one store. While enough of them are under way the others wait in this process, and their time counts
 * from when they are sent. Ten thousand that are sent at once, such as after an outage, would fill the queue of the
 * client, take longer there than a call may, and be sent again. A renewal whose caller has gone makes room, because its
 * request may never be answered.
 *
 * Not `limitConcurrency`, which knows no callers: work that is never answered would keep its place.
 */
export class RenewalQueue {
  readonly #clock: Clock
  #underWay = 0
  readonly #queue: (() => void)[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `run` makes a call of the work. */
  run<T>(work: Work<T>, run: (work: Work<T>) => Promise<T>): Promise<T> {
    let hasBegun = false
    const begin = (running: Running) => {
      hasBegun = true
      running.leave(this.#clock.monotonic())
      return work(running)
    }
    const renewal = run((running) => {
      if (this.#underWay >= MAX_RENEWALS_UNDER_WAY) return this.#wait(running).then(() => begin(running))
      this.#underWay++
      return begin(running)
    })
    const end = () => {
      if (hasBegun) this.#next()
    }
    renewal.then(end, end)
    return renewal
  }

  async #wait(running: Running): Promise<void> {
    running.hold()
    await new Promise<void>((resolve) => this.#queue.push(resolve))
    if (!running.reason) return
    this.#next()
    throw running.reason
  }

  #next(): void {
    const next = this.#queue.shift()
    if (next) next()
    else this.#underWay--
  }
}
