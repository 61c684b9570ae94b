import { setTimeout as sleep } from 'node:timers/promises'

export interface Target {
  readonly port: number
}

export interface Delivery {
  readonly id: string
  /** How often it was delivered. */
  readonly times: number
  /** The `status` in the body of the successful answer. */
  readonly status: string
}

/**
 * A small queue that behaves like Cloud Tasks: it delivers at least once, to any worker, and repeats with backoff
 * until the answer is 2xx. A missing answer after the dispatch deadline and a broken connection count as failures.
 */
export class TaskQueue {
  readonly #targets: () => readonly Target[]
  readonly #deadlineMs: number
  #next = 0
  #stopped = false

  constructor(targets: () => readonly Target[], { deadlineMs = 1500 } = {}) {
    this.#targets = targets
    this.#deadlineMs = deadlineMs
  }

  async deliver(id: string): Promise<Delivery> {
    for (let times = 1; ; times++) {
      const status = await this.#dispatch(id)
      if (this.#stopped) return { id: id, times, status: 'dropped' }
      if (status !== undefined) return { id: id, times, status }
      await sleep(Math.min(20 * 2 ** times, 250))
    }
  }

  /** Delivers all, `lanes` at a time. `after` is called after each with the number of completed deliveries. */
  async deliverAll(
    ids: readonly string[],
    { lanes, after }: { readonly lanes: number; readonly after: (done: number) => void },
  ): Promise<Delivery[]> {
    const waiting = [...ids]
    const done: Delivery[] = []
    const lane = async () => {
      for (let id = waiting.shift(); id !== undefined; id = waiting.shift())
        after(done.push(await this.deliver(id)))
    }
    await Promise.all(Array.from({ length: lanes }, lane))
    return done
  }

  stop(): void {
    this.#stopped = true
  }

  async #dispatch(id: string): Promise<string | undefined> {
    const targets = this.#targets()
    const target = targets[this.#next++ % targets.length]
    if (!target) return undefined
    try {
      const response = await fetch(`http://127.0.0.1:${target.port}/tasks`, {
        method: 'POST',
        body: JSON.stringify({ id }),
        signal: AbortSignal.timeout(this.#deadlineMs),
      })
      const body = (await response.json()) as { readonly status?: string }
      return response.ok ? (body.status ?? '') : undefined
    } catch {
      return undefined
    }
  }
}
