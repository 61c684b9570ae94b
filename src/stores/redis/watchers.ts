import type { LeaseRecord, StoreEvent } from '../../core/index.ts'
import { unpack } from './layout.ts'

/** How long the script publishes changes after it was told that somebody watches. */
export const WATCHED_MS = 30_000

export interface Watcher {
  readonly on: (event: StoreEvent) => void
  readonly prefix: string
}

/**
 * Who wants to hear of changes. The script publishes them only while somebody does, since most stores have no
 * watcher and every grant would pay for one; so it is told so again and again.
 */
export class Watchers {
  readonly #announce: () => Promise<boolean>
  readonly #watchers = new Set<Watcher>()
  #timer: ReturnType<typeof setInterval> | undefined

  /** `announce`: tells the script. False: it had not known, and changes went untold. */
  constructor(announce: () => Promise<boolean>) {
    this.#announce = announce
  }

  get size(): number {
    return this.#watchers.size
  }

  /** The caller is subscribed; from now on the script publishes too. */
  async add(watcher: Watcher): Promise<void> {
    await this.#announce()
    this.#watchers.add(watcher)
    this.#timer ??= setInterval(() => this.#announceAgain(), WATCHED_MS / 3).unref()
  }

  delete(watcher: Watcher): void {
    this.#watchers.delete(watcher)
    if (this.size === 0) this.#stop()
  }

  clear(): void {
    this.#watchers.clear()
    this.#stop()
  }

  tellGap(): void {
    for (const { on } of this.#watchers) quietly(() => on({ type: 'gap' }))
  }

  tellChange(message: string): void {
    const [state, , , , , since] = message.split(' ', 6)
    const row = message.slice(message.indexOf(' ') + 1)
    const lease = unpack(row, state as LeaseRecord['state'], Number(since))
    for (const { on, prefix } of this.#watchers)
      if (lease.resource.startsWith(prefix)) quietly(() => on({ type: 'change', lease }))
  }

  /** If this fails until the script has forgotten us, it will say so later. */
  #announceAgain(): void {
    this.#announce().then(
      (known) => known || this.tellGap(),
      () => {},
    )
  }

  #stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

/** What a listener throws harms nobody else. */
export function quietly(run: () => void): void {
  try {
    run()
  } catch {}
}
