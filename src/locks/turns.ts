/** The requests of one name that have no place yet. Each promise resolves, and never rejects. */
interface Unplaced {
  readonly all: Promise<void>
  readonly exclusive: Promise<void> | undefined
}

/**
 * In which order a manager sends its requests, because a store need not answer them in the order in which they were
 * sent. A request is sent once those of the same name before it have a place: they are granted, wait in the queue, or
 * have ended. Shared requests do not wait for each other.
 */
export class Turns {
  readonly #unplaced = new Map<string, Unplaced>()
  #answered: Promise<void> = Promise.resolve()

  /** Resolves when the request may be sent; `undefined`: at once. `placed` resolves when it has its place. */
  take(name: string, isShared: boolean, placed: Promise<void>): Promise<void> | undefined {
    const before = this.#unplaced.get(name)
    const all = both(before?.all, placed)
    const unplaced = { all, exclusive: isShared ? before?.exclusive : all }
    this.#unplaced.set(name, unplaced)
    all.then(() => {
      if (this.#unplaced.get(name) === unplaced) this.#unplaced.delete(name)
    })
    return isShared ? before?.exclusive : before?.all
  }

  /** Call it when a request is sent. Resolves when all that were sent before have been answered, whatever their names. */
  sent(answered: Promise<void>): Promise<void> {
    const before = this.#answered
    this.#answered = both(before, answered)
    return before
  }
}

async function both(first: Promise<void> | undefined, second: Promise<void>): Promise<void> {
  await first
  await second
}
