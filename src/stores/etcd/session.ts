import { type Clock, systemClock } from '../../base/clock.ts'
import type { EtcdDatabase } from '../../clients/etcd.ts'
import { SESSION_KEPT_ALIVE_EVERY_MS, SESSION_TTL_S } from './options.ts'

/** The etcd lease of this process, to which its waiters are attached: alive while somebody waits. */
export class Session {
  readonly #database: EtcdDatabase
  readonly #isNeeded: () => boolean
  readonly #clock: Clock
  #lease: Promise<string> | undefined
  #cancelTimer: (() => void) | undefined

  constructor(database: EtcdDatabase, isNeeded: () => boolean, clock = systemClock) {
    this.#database = database
    this.#isNeeded = isNeeded
    this.#clock = clock
  }

  lease(): Promise<string> {
    if (this.#lease) return this.#lease
    const granting = this.#database.grantLease(SESSION_TTL_S).then(({ lease }) => lease)
    this.#lease = granting
    granting.then(
      () => this.#keepAliveLater(granting),
      () => this.forget(granting),
    )
    return granting
  }

  /** It has ended. The next waiter begins another one. */
  forget(lease = this.#lease): void {
    if (this.#lease !== lease) return
    this.#lease = undefined
    this.#cancelTimer?.()
  }

  /** A waiter may go on at another process, and keeps its place until the lease expires. */
  async close(): Promise<void> {
    const lease = this.#lease
    this.forget()
    if (this.#isNeeded()) return
    await lease?.then((granted) => this.#database.revokeLease(granted)).catch(() => {})
  }

  #keepAliveLater(lease: Promise<string>): void {
    if (this.#lease !== lease) return
    this.#cancelTimer = this.#clock.setTimer(
      () => void this.#keepAlive(lease),
      SESSION_KEPT_ALIVE_EVERY_MS,
      true,
    )
  }

  async #keepAlive(lease: Promise<string>): Promise<void> {
    if (!this.#isNeeded()) return this.close()
    try {
      if ((await this.#database.keepAlive(await lease)) > 0) return this.#keepAliveLater(lease)
      this.forget(lease)
    } catch {
      this.#keepAliveLater(lease)
    }
  }
}
