/** An item with a deadline. A deadline only moves later, so each item is in the heap once, at its first deadline. */
export interface Expiring {
  /** On the monotonic clock. */
  deadline: number
  /** The item is not needed any more. */
  over: boolean
}

/**
 * A binary heap: ten thousand leases may be renewed every ten seconds, and only the next expiry has a timer. `core/watch.ts`
 * needs none: it looks at all of its leases at a fixed interval.
 */
export class ExpiryQueue<T extends Expiring> {
  readonly #heap: { readonly at: number; readonly item: T }[] = []

  add(item: T): void {
    this.#heap.push({ at: item.deadline, item })
    this.#rise(this.#heap.length - 1)
  }

  /** The first deadline, as it was when its item was added: maybe too early, never too late. */
  get next(): number | undefined {
    return this.#heap[0]?.at
  }

  /** Removes and returns all items that are due. Items whose deadline has moved stay in the queue. */
  takeDue(now: number): T[] {
    const due: T[] = []
    for (let first = this.#heap[0]; first && first.at <= now; first = this.#heap[0]) {
      this.#removeFirst()
      const { item } = first
      if (item.over) continue
      if (item.deadline > now) this.add(item)
      else due.push(item)
    }
    return due
  }

  #removeFirst(): void {
    const last = this.#heap.pop()
    if (!last || this.#heap.length === 0) return
    this.#heap[0] = last
    this.#sink()
  }

  #rise(index: number): void {
    for (let child = index; child > 0; ) {
      const parent = (child - 1) >> 1
      if (!this.#swapIfLater(parent, child)) return
      child = parent
    }
  }

  #sink(): void {
    for (let parent = 0; ; ) {
      const left = 2 * parent + 1
      const child = this.#at(left + 1) < this.#at(left) ? left + 1 : left
      if (!this.#swapIfLater(parent, child)) return
      parent = child
    }
  }

  #swapIfLater(parent: number, child: number): boolean {
    const [above, below] = [this.#heap[parent], this.#heap[child]]
    if (!above || !below || above.at <= below.at) return false
    this.#heap[parent] = below
    this.#heap[child] = above
    return true
  }

  #at(index: number): number {
    return this.#heap[index]?.at ?? Infinity
  }
}
