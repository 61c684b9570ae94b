/**
 * Watching, across processes. Changes are written to a table while `watch_until` lies ahead, so that a store that
 * nobody watches pays nothing. A process that watches pushes that time ahead, and reads the table after commits
 * of its own and when it sees that another connection has committed. Numbers without a hole are the proof that
 * nothing was missed; a hole, or a push that came too late, is told as a gap.
 */
import type { Clock, LeaseRecord, StoreEvent } from '../../core/index.ts'
import type { Connection } from './connection.ts'
import type { Gate } from './gate.ts'
import type { Ledger } from './ledger.ts'
import { safely } from './listeners.ts'

export const WATCH_FOR_MS = 30_000
const PUSH_EVERY_MS = 10_000
const READ_AT_ONCE = 500

interface Watcher {
  readonly on: (event: StoreEvent) => void
  readonly prefix: string
}

export class Changes {
  readonly #clock: Clock
  readonly #gate: Gate
  readonly #ledger: Ledger
  readonly #connection: Connection
  readonly #watchers = new Set<Watcher>()
  #position = 0
  #watchUntil = 0
  #readingSoon = false
  #cancelTimer: (() => void) | undefined

  constructor(clock: Clock, gate: Gate, ledger: Ledger, connection: Connection) {
    this.#clock = clock
    this.#gate = gate
    this.#ledger = ledger
    this.#connection = connection
  }

  get watched(): boolean {
    return this.#watchers.size > 0
  }

  async watch(on: (event: StoreEvent) => void, prefix: string): Promise<AsyncDisposable> {
    const watcher = { on, prefix }
    await this.#gate.run(() => {
      this.#pushAhead()
      // What came before is for those who watched before.
      this.read()
      this.#watchers.add(watcher)
    })
    this.#pushLater()
    return {
      [Symbol.asyncDispose]: async () => {
        this.#watchers.delete(watcher)
        if (!this.watched) this.stop()
      },
    }
  }

  /** After a change by this process: in a microtask, so that a listener finds the store between two calls. */
  readSoon(): void {
    if (!this.watched || this.#readingSoon) return
    this.#readingSoon = true
    queueMicrotask(() => {
      this.#readingSoon = false
      safely(() => this.read())
    })
  }

  /** Tells all that was written since the last time. */
  read(): void {
    for (let more = this.watched; more; ) {
      const found = this.#connection.queries.changesAfter(this.#position, READ_AT_ONCE)
      for (const { seq, lease } of found) {
        if (seq !== this.#position + 1) this.#tell({ type: 'gap' })
        this.#position = seq
        this.#tell(decodeChange(lease, this.#clock.now()))
      }
      more = found.length === READ_AT_ONCE
    }
  }

  stop(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    this.#watchers.clear()
  }

  #pushAhead(): void {
    const { now, last } = this.#ledger.transact(({ now, queries }) => {
      queries.setWatchUntil(now + WATCH_FOR_MS)
      return { now, last: queries.lastChange() }
    })
    if (!this.watched || now >= this.#watchUntil) {
      this.#position = last
      this.#tell({ type: 'gap' })
    }
    this.#watchUntil = now + WATCH_FOR_MS
  }

  #pushLater(): void {
    this.#cancelTimer ??= this.#clock.setTimer(
      () => {
        this.#cancelTimer = undefined
        // A push that fails is made good by the next; if that comes too late, there is a gap.
        this.#gate.run(() => this.#pushAhead()).catch(() => {})
        this.#pushLater()
      },
      PUSH_EVERY_MS,
      true,
    )
  }

  #tell(event: StoreEvent): void {
    for (const { on, prefix } of this.#watchers)
      if (event.type === 'gap' || event.lease.resource.startsWith(prefix)) safely(() => on(event))
  }
}

function decodeChange(text: string, now: number): StoreEvent {
  try {
    const lease: LeaseRecord = JSON.parse(text)
    const { resource, remaining, expiresAt } = lease
    if (typeof resource !== 'string') return { type: 'gap' }
    const left = Math.max(0, Math.min(remaining ?? 0, (expiresAt ?? 0) - now))
    return { type: 'change', lease: { ...lease, remaining: left } }
  } catch {
    return { type: 'gap' }
  }
}
