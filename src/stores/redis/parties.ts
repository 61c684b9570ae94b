import type { Ask, LeaseRecord } from '../../core/index.ts'
import { quietly } from './watchers.ts'

/** Whom to tell what comes in for one id: that it is its turn, or that its lease was ended. */
interface Party {
  readonly resource: string
  wake: Ask['wake']
  lost: Ask['lost']
  /** The lease that it was granted and holds still, as far as we know. */
  lease: LeaseRecord | null
  /** The last token of its own that was ended: this may be heard before the answer that grants it. */
  ended: number
}

/** The waiters and holders of this store, by id. */
export class Parties {
  readonly #parties = new Map<string, Party>()

  get size(): number {
    return this.#parties.size
  }

  expect({ resource, id, wake, lost }: Ask): void {
    const party = this.#parties.get(id)
    if (party) {
      // Who asks again without these may still stand in line, and is still to be called.
      party.wake = wake ?? party.wake
      party.lost = lost ?? party.lost
    } else if (wake || lost) this.#parties.set(id, { resource, wake, lost, lease: null, ended: 0 })
  }

  granted(lease: LeaseRecord): void {
    const party = this.#parties.get(lease.id)
    if (!party) return
    party.wake = undefined
    party.lease = lease
    if (!party.lost) this.forget(lease.id)
    else if (party.ended >= lease.token) this.#lose(lease.id, party)
  }

  refused(id: string, stands: boolean): void {
    const party = this.#parties.get(id)
    if (party && stands) party.lease = null
    else this.forget(id)
  }

  /** Says what lease it held. */
  forget(id: string): LeaseRecord | null {
    const lease = this.#parties.get(id)?.lease
    this.#parties.delete(id)
    return lease ?? null
  }

  clear(): void {
    this.#parties.clear()
  }

  /** What the script tells one of them: `wake <ms> <id>` or `lost <token> <id>`. */
  hear(message: string): void {
    const [verb, number, word = ''] = message.split(' ')
    const id = decodeURIComponent(word)
    if (verb === 'wake') this.#parties.get(id)?.wake?.(Number(number))
    else this.ended(id, Number(number))
  }

  ended(id: string, token: number): void {
    const party = this.#parties.get(id)
    if (!party) return
    party.ended = Math.max(party.ended, token)
    if (party.lease && party.ended >= party.lease.token) this.#lose(id, party)
  }

  wakeAll(): void {
    for (const { wake } of this.#parties.values()) wake?.(0)
  }

  /** Of those who want to hear of their end. */
  leases(): LeaseRecord[] {
    return [...this.#parties.values()].map(({ lease }) => lease).filter((lease) => lease !== null)
  }

  #lose(id: string, { lost }: Party): void {
    this.forget(id)
    if (lost) quietly(lost)
  }
}
