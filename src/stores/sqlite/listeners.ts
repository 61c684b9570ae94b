import type { Answer, Ask, LeaseRecord } from '../../core/index.ts'
import type { Effects, LeaseRow } from '../lease-row.ts'

/** Held leases that one look goes over: with 10 000 of them a look at all would take too long at once. */
const LEASES_AT_ONCE = 250

interface Waiter {
  readonly resource: string
  readonly wake: (inMs: number) => void
  /** The reservation of which it has been told. */
  told: string
}

interface Holder {
  /** As it was granted. */
  readonly lease: LeaseRecord
  readonly lost: () => void
}

interface Line {
  readonly ids: ReadonlySet<string>
  readonly second: string | undefined
  readonly reserved: LeaseRow['reserved']
}

/** Those in this process who wait for a lease, or want to hear when theirs is ended. */
export class Listeners {
  readonly #waiters = new Map<string, Waiter>()
  readonly #holders = new Map<string, Holder>()
  #round: MapIterator<[string, Holder]> | undefined
  #roundIsDue = false

  get size(): number {
    return this.#waiters.size + this.#holders.size
  }

  remember({ resource, id, wake, lost }: Ask, answer: Answer): void {
    if (answer.granted) this.#waiters.delete(id)
    else if (wake) this.#waiters.set(id, { resource, wake, told: '' })
    if (answer.granted && lost) this.#holders.set(id, { lease: answer.lease, lost })
  }

  granted(resource: string, id: string): LeaseRecord | undefined {
    const lease = this.#holders.get(id)?.lease
    return lease?.resource === resource ? lease : undefined
  }

  forget(resource: string, id: string): void {
    if (this.#waiters.get(id)?.resource === resource) this.#waiters.delete(id)
    if (this.#holders.get(id)?.lease.resource === resource) this.#holders.delete(id)
  }

  clear(): void {
    this.#waiters.clear()
    this.#holders.clear()
  }

  /** What a change by this process means to them. */
  tell({ changes, wakes }: Effects): void {
    for (const [id, inMs] of wakes) this.#wake(id, inMs)
    for (const lease of changes) if (lease.state !== 'held') this.#lose(lease.id)
  }

  /** What changes by others mean to those who wait. `find` has `null` for a row that cannot be read. */
  lookAtLines(find: (resource: string) => LeaseRow | null, now: number): void {
    const lines = new Map<string, Line>()
    for (const [id, waiter] of this.#waiters) {
      const line = lines.get(waiter.resource) ?? lineOf(find(waiter.resource))
      lines.set(waiter.resource, line)
      const { reserved } = line
      if (!line.ids.has(id)) {
        // It lost its place; asking again, it is remembered again.
        this.#wake(id, 0)
        this.#waiters.delete(id)
      } else if (reserved && waiter.told !== `${reserved.id} ${reserved.until}`) {
        waiter.told = `${reserved.id} ${reserved.until}`
        if (reserved.id === id) this.#wake(id, 0)
        else if (line.second === id) this.#wake(id, Math.max(0, reserved.until - now))
      }
    }
  }

  /** Whether leases were ended by others: some of them each time, all of them in turn. */
  lookAtLeases(changed: boolean, holderOf: (resource: string) => string | null): void {
    this.#roundIsDue ||= changed
    if (!this.#round && this.#roundIsDue) {
      this.#round = this.#holders.entries()
      this.#roundIsDue = false
    }
    for (let looks = 0; looks < LEASES_AT_ONCE && this.#round; looks++) {
      const next = this.#round.next()
      if (next.done) this.#round = undefined
      else if (holderOf(next.value[1].lease.resource) !== next.value[0]) this.#lose(next.value[0])
    }
  }

  #wake(id: string, inMs: number): void {
    const waiter = this.#waiters.get(id)
    if (waiter) safely(() => waiter.wake(inMs))
  }

  #lose(id: string): void {
    const holder = this.#holders.get(id)
    this.#holders.delete(id)
    if (holder) safely(holder.lost)
  }
}

function lineOf(row: LeaseRow | null): Line {
  const ids = row ? row.line.map((waiter) => waiter.id) : []
  return { ids: new Set(ids), second: ids[1], reserved: row?.reserved ?? null }
}

/** What a caller's function throws harms nobody else. */
export function safely(call: () => void): void {
  try {
    call()
  } catch {
    // Its own concern.
  }
}
