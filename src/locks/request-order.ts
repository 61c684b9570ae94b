/** When the requests of one name have a place: they are granted, wait in the queue, or have ended. None rejects. */
interface Placed {
  readonly all: Promise<void>
  /** The exclusive ones, and those before them. */
  readonly exclusive: Promise<void> | undefined
}

/**
 * In which order a manager sends its requests and calls their callbacks, because a store need not answer in the order in
 * which it was asked. A request is sent when those of the same name before it have a place.
 */
export class RequestOrder {
  readonly #placed = new Map<string, Placed>()
  #called: Promise<void> = Promise.resolve()

  /** Returns those of the same name before it, if there are any. `placed`: when the request itself has a place. */
  take(name: string, isShared: boolean, placed: Promise<void>): Placed | undefined {
    const before = this.#placed.get(name)
    const all = both(before?.all, placed)
    const next = { all, exclusive: isShared ? before?.exclusive : all }
    this.#placed.set(name, next)
    all.then(() => {
      if (this.#placed.get(name) === next) this.#placed.delete(name)
    })
    return before
  }

  /** Resolves when all requests of this name until now have a place; `undefined`: they have. */
  placed(name: string): Promise<void> | undefined {
    return this.#placed.get(name)?.all
  }

  /**
   * Call it when a request is sent, whatever its name. `called`: when its callback was called, or is not to be called yet.
   * Resolves when the callback may be called: after those of all that were sent before.
   */
  sent(called: Promise<void>): Promise<void> {
    const before = this.#called
    this.#called = both(before, called)
    return before
  }

  /** Resolves when the callbacks of all that were sent until now were called, or are not to be called yet. */
  get called(): Promise<void> {
    return this.#called
  }
}

async function both(first: Promise<void> | undefined, second: Promise<void>): Promise<void> {
  await first
  await second
}
