import type { Clock } from '../base/clock.ts'
import type { Answer, LeaseStore } from '../core/index.ts'
import { clientChannel } from '../protocol/index.ts'
import type { Channels } from './channels/index.ts'
import { setLimited } from './limited-map.ts'
import type { OnError } from './service.ts'

/** As long as a store reserves a resource for a waiter whose turn it is. */
const ASKS_AGAIN_WITHIN_MS = 1000
/** The oldest are forgotten first: a request that was granted at another node leaves its place here. */
const MAX_PLACES = 20_000

export interface ClientPlacesOptions {
  readonly store: LeaseStore
  readonly channels: Pick<Channels, 'occupied'>
  readonly clock: Clock
  readonly onError: OnError
}

interface Place {
  readonly client: string
  readonly resource: string
}

/**
 * The places in queues that clients of the lease API have taken at this node. For the store, this node is the waiter,
 * and it is alive. So if it is the turn of a client that has died, each of its places would be kept for the time of a
 * reservation, one after the other. A client that does not ask again in that time, and that listens at no node, loses
 * all its places at once. It keeps the leases that it holds.
 */
export class ClientPlaces {
  readonly #options: ClientPlacesOptions
  /** By the id of the request. */
  readonly #places = new Map<string, Place>()
  /** Clients that were called and have not asked since. */
  readonly #checks = new Map<string, () => void>()

  constructor(options: ClientPlacesOptions) {
    this.#options = options
  }

  /** The client has sent a request. */
  heard(client: string): void {
    this.#checks.get(client)?.()
    this.#checks.delete(client)
  }

  answered(id: string, place: Place, answer: Answer): void {
    if (!answer.granted && answer.place !== null) setLimited(this.#places, id, place, MAX_PLACES)
    else this.#places.delete(id)
  }

  released(id: string): void {
    this.#places.delete(id)
  }

  /** The client was told that it is its turn. */
  called(client: string): void {
    if (this.#checks.has(client)) return
    const { clock, onError } = this.#options
    const check = () => {
      this.#checks.delete(client)
      this.#giveUpIfDead(client).catch((error: unknown) => onError('places', error))
    }
    this.#checks.set(client, clock.setTimer(check, ASKS_AGAIN_WITHIN_MS, true))
  }

  async #giveUpIfDead(client: string): Promise<void> {
    const { store, channels } = this.#options
    const channel = clientChannel(client)
    if ((await channels.occupied(channel)).has(channel)) return
    for (const [id, place] of this.#places) {
      if (place.client !== client) continue
      this.#places.delete(id)
      const { resource } = place
      const [holders = []] = await store.read([resource])
      // It may have been granted at another node.
      if (holders.every((lease) => lease.id !== id)) await store.release({ resource, id })
    }
  }
}
