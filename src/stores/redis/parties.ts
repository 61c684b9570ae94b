import type { Ask } from '../../core/index.ts'
import { quietly } from './watchers.ts'

/** Whom to tell what comes in for one id: that it is its turn, or that its lease was ended. */
interface Party {
  readonly resource: string
  wake: Ask['wake']
  lost: Ask['lost']
  /** Of the lease that it holds; 0 while it holds none. */
  token: number
  /** The last token of its own that was ended: this may be heard before the answer that grants it. */
  ended: number
}

/** The waiters and holders of this store, by id. */
export class Parties {
  readonly #parties = new Map<string, Party>()

  get size(): number {
    return this.#parties.size
  }

  /** Before the ask is sent: what concerns it may come in before its answer does. */
  expect({ resource, id, wake, lost }: Ask): void {
    const party = this.#parties.get(id)
    if (party) {
      // Who asks again without these may still stand in line, and is still to be called.
      party.wake = wake ?? party.wake
      party.lost = lost ?? party.lost
    } else if (wake || lost) this.#parties.set(id, { resource, wake, lost, token: 0, ended: 0 })
  }

  granted(id: string, token: number): void {
    const party = this.#parties.get(id)
    if (!party) return
    party.wake = undefined
    party.token = token
    if (!party.lost) this.forget(id)
    else if (party.ended >= token) this.#lose(id, party)
  }

  refused(id: string, stands: boolean): void {
    const party = this.#parties.get(id)
    if (party && stands) party.token = 0
    else this.forget(id)
  }

  forget(id: string): void {
    this.#parties.delete(id)
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
    if (party.token > 0 && party.ended >= party.token) this.#lose(id, party)
  }

  wakeAll(): void {
    for (const { wake } of this.#parties.values()) wake?.(0)
  }

  /** Those who hold a lease. */
  holders(): { readonly id: string; readonly resource: string; readonly token: number }[] {
    const all = [...this.#parties].map(([id, { resource, token }]) => ({ id, resource, token }))
    return all.filter(({ token }) => token > 0)
  }

  #lose(id: string, { lost }: Party): void {
    this.forget(id)
    if (lost) quietly(lost)
  }
}
