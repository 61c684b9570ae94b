/** A seeded source of chance. */
export class Random {
  readonly random: () => number

  constructor(seed: number) {
    this.random = randomFrom(seed)
  }

  between(min: number, max: number): number {
    return min + (max - min) * this.random()
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.random() * items.length)] as T
  }

  chance(probability: number): boolean {
    return this.random() < probability
  }
}

/** True time of the simulation: a queue of events, run one after the other, with a seeded source of chance. */
export class World extends Random {
  /** Milliseconds of true time; no simulated process can read it. */
  now = 0
  readonly #seed: number
  readonly #queue: Event[] = []
  #scheduled = 0

  constructor(seed: number) {
    super(seed)
    this.#seed = seed
  }

  /** A source of chance of its own, so that what one actor draws changes nothing for the others. */
  stream(name: string): Random {
    let hash = this.#seed
    for (const character of name) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193)
    return new Random(hash)
  }

  /** Runs after so much true time. Returns how to cancel it. */
  after(ms: number, run: () => void): () => void {
    const event: Event = { at: this.now + Math.max(0, ms), order: this.#scheduled++, run }
    this.#push(event)
    return () => {
      event.run = undefined
    }
  }

  /** Runs events until true time has reached `until`, and lets promises settle after each. */
  async runUntil(until: number): Promise<void> {
    await promisesSettled()
    for (;;) {
      const next = this.#queue[0]
      if (!next || next.at > until) break
      this.#pop()
      if (!next.run) continue
      this.now = next.at
      next.run()
      await promisesSettled()
    }
    this.now = Math.max(this.now, until)
  }

  #push(event: Event): void {
    const heap = this.#queue
    heap.push(event)
    let index = heap.length - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!before(event, heap[parent])) break
      heap[index] = heap[parent] as Event
      index = parent
    }
    heap[index] = event
  }

  #pop(): void {
    const heap = this.#queue
    const last = heap.pop()
    if (!last || heap.length === 0) return
    let index = 0
    for (;;) {
      let child = 2 * index + 1
      if (child >= heap.length) break
      if (before(heap[child + 1], heap[child])) child++
      if (!before(heap[child], last)) break
      heap[index] = heap[child] as Event
      index = child
    }
    heap[index] = last
  }
}

interface Event {
  readonly at: number
  readonly order: number
  run: (() => void) | undefined
}

function before(a: Event | undefined, b: Event | undefined): boolean {
  if (!a || !b) return false
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}

function promisesSettled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** sfc32: small, fast, and the same everywhere. */
function randomFrom(seed: number): () => number {
  let a = seed | 0
  let b = 0x9e3779b9 | 0
  let c = (seed / 2 ** 32) | 0
  let counter = 1
  const next = () => {
    const sum = (((a + b) | 0) + counter++) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (c << 21) | (c >>> 11)
    c = (c + sum) | 0
    return (sum >>> 0) / 2 ** 32
  }
  for (let warmUp = 0; warmUp < 15; warmUp++) next()
  return next
}
