/**
 * Watching, across processes. Changes are written to a table only while `watch_until` lies ahead, so a store that
 * nobody watches pays nothing. A process that watches moves that time ahead, and reads the table after commits of
 * its own and after commits of other connections. Changes are numbered: a missing number, or a `watch_until` that
 * was moved too late, is told as a gap.
 */
import type { Clock } from '../../base/clock.ts'
import { notify } from '../../base/notify.ts'
import type { LeaseRecord } from '../../base/records.ts'
import { decodeShare } from '../../base/share.ts'
import type { StoreEvent } from '../../core/index.ts'
import type { LocalListeners } from '../local/listeners.ts'
import type { Connection } from './connection.ts'
import { MOVE_AHEAD_EVERY_MS, READ_AT_ONCE, WATCH_FOR_MS } from './options.ts'
import type { Transitions } from './transitions.ts'

export interface ChangeLogOptions {
  readonly clock: Clock
  readonly connection: Connection
  readonly transitions: Transitions
  readonly listeners: LocalListeners
  /** Runs work that writes, when the database is not busy. */
  readonly run: (work: () => void) => Promise<void>
}

export class ChangeLog {
  readonly #options: ChangeLogOptions
  /** The number of the last change that was told. */
  #position = 0
  #watchUntil = 0
  #isReadingSoon = false
  #cancelTimer: (() => void) | undefined

  constructor(options: ChangeLogOptions) {
    this.#options = options
  }

  watch(on: (event: StoreEvent) => void, prefix?: string): AsyncDisposable {
    const { listeners } = this.#options
    this.#moveAhead()
    // Earlier changes are only for those who watched before.
    this.read()
    const watch = listeners.watch(on, prefix)
    this.#moveAheadLater()
    return {
      [Symbol.asyncDispose]: async () => {
        await watch[Symbol.asyncDispose]()
        if (!listeners.isWatched) this.stop()
      },
    }
  }

  /** After a commit of this store. In a microtask, so that a watcher may call the store. */
  readSoon(): void {
    if (!this.#options.listeners.isWatched || this.#isReadingSoon) return
    this.#isReadingSoon = true
    queueMicrotask(() => {
      this.#isReadingSoon = false
      notify(() => this.read())
    })
  }

  /** Tells all changes that were written since the last time. */
  read(): void {
    const { listeners, connection, clock } = this.#options
    for (let more = listeners.isWatched; more; ) {
      const found = connection.queries.changesAfter(this.#position, READ_AT_ONCE)
      for (const { seq, lease } of found) {
        if (seq !== this.#position + 1) listeners.tellGap()
        this.#position = seq
        const change = decodeChange(lease, clock.now())
        if (change) listeners.tellChange(change)
        else listeners.tellGap()
      }
      more = found.length === READ_AT_ONCE
    }
  }

  stop(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  #moveAhead(): void {
    const { transitions, listeners } = this.#options
    const { now, last } = transitions.transact(({ now, queries }) => {
      queries.setWatchUntil(now + WATCH_FOR_MS)
      return { now, last: queries.lastChange() }
    })
    if (!listeners.isWatched || now >= this.#watchUntil) {
      this.#position = last
      listeners.tellGap()
    }
    this.#watchUntil = now + WATCH_FOR_MS
  }

  #moveAheadLater(): void {
    const { clock, run } = this.#options
    this.#cancelTimer ??= clock.setTimer(
      () => {
        this.#cancelTimer = undefined
        // If this fails, the next one makes up for it. If that comes too late, watchers are told of a gap.
        run(() => this.#moveAhead()).catch(() => {})
        this.#moveAheadLater()
      },
      MOVE_AHEAD_EVERY_MS,
      true,
    )
  }
}

/** `undefined`: the entry is damaged. */
function decodeChange(text: string, now: number): LeaseRecord | undefined {
  try {
    const lease: LeaseRecord = JSON.parse(text)
    const { resource, remaining, expiresAt } = lease
    if (typeof resource !== 'string') return undefined
    const share = decodeShare(lease.share)
    return { ...lease, share, remaining: Math.max(0, Math.min(remaining ?? 0, (expiresAt ?? 0) - now)) }
  } catch {
    return undefined
  }
}
