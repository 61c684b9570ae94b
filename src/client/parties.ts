import type { Ask, LeaseRecord } from '../core/index.ts'
import { quietly } from './socket.ts'

interface Party {
  readonly wake: Ask['wake']
  readonly lost: Ask['lost']
  readonly lease: LeaseRecord | null
}

/** Whom to tell what comes in for one id: that it is its turn, or that its lease was ended. */
export class Parties {
  readonly #parties = new Map<string, Party>()

  get size(): number {
    return this.#parties.size
  }

  expect({ id, wake, lost }: Ask): void {
    const known = this.#parties.get(id)
    this.#parties.set(id, {
      wake: wake ?? known?.wake,
      lost: lost ?? known?.lost,
      lease: known?.lease ?? null,
    })
  }

  granted(lease: LeaseRecord): void {
    const party = this.#parties.get(lease.id)
    if (party?.lost) this.#parties.set(lease.id, { ...party, wake: undefined, lease })
    else this.forget(lease.id)
  }

  refused(id: string, stands: boolean): void {
    if (!stands) this.forget(id)
  }

  forget(id: string): void {
    this.#parties.delete(id)
  }

  clear(): void {
    this.#parties.clear()
  }

  hear(event: string, data: object): void {
    const { id, in_ms } = data as { id?: unknown; in_ms?: unknown }
    if (event === 'lease.wake') this.#parties.get(String(id))?.wake?.(Number(in_ms))
    if (event === 'lease.lost') this.lose(String(id))
  }

  lose(id: string): void {
    const party = this.#parties.get(id)
    this.forget(id)
    if (party?.lost) quietly(party.lost)
  }

  wakeAll(): void {
    for (const { wake } of this.#parties.values()) wake?.(0)
  }

  /** Of those who want to hear of their end. */
  leases(): LeaseRecord[] {
    return [...this.#parties.values()].map(({ lease }) => lease).filter((lease) => lease !== null)
  }
}
