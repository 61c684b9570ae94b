import type { Clock } from '../base/clock.ts'
import type { Answer, Ask, LeaseStore, ReleaseAsk } from '../core/index.ts'
import { clientChannel } from '../protocol/index.ts'
import type { Channels } from './channels/index.ts'
import {
  ASKS_AGAIN_WITHIN_MS,
  MAX_PLACES,
  RECOUNT_MS,
  RECOUNT_RESOURCES,
  RECOUNT_WAITERS,
} from './options.ts'
import type { OnError } from './service.ts'
import type { WaiterLimits } from './waiter-limits.ts'

export interface ClientPlacesOptions {
  readonly store: LeaseStore
  readonly channels: Pick<Channels, 'occupied'>
  readonly limits: WaiterLimits
  readonly clock: Clock
  readonly onError: OnError
}

/** Who asks. */
interface Sender {
  /** Where it listens. */
  readonly client: string | undefined
  /** What the limits count; `undefined`: nothing, because it has a token of the settings. */
  readonly address: string | undefined
}

interface Place extends Sender {
  readonly resource: string
  readonly id: string
  /** It is not counted any more. */
  readonly leave: () => void
}

/**
 * The places in queues that clients of the lease API have taken at this node. For the store, this node is the waiter,
 * and it is alive. So if it is the turn of a client that has died, each of its places would be kept for the time of a
 * reservation, one after the other. A client that does not ask again in that time, and that listens at no node, loses
 * all its places at once. It keeps the leases that it holds.
 *
 * `waiting-requests.ts` says what the other files about waiters are for.
 */
export class ClientPlaces {
  readonly #options: ClientPlacesOptions
  /** By resource and id. */
  readonly #places = new Map<string, Place>()
  /** Clients that were called and have not asked since. Each entry is one call, whose timer it cancels. */
  readonly #checks = new Map<string, () => void>()
  #recountedAt = -Infinity

  constructor(options: ClientPlacesOptions) {
    this.#options = options
  }

  /** Where too many wait, a request gets what is free, and otherwise 429. */
  async acquire(ask: Ask, sender: Sender): Promise<Answer> {
    const { store } = this.#options
    const { resource, id } = ask
    const { client } = sender
    if (client !== undefined) this.#heard(client)
    const key = keyOf(ask)
    let leave: () => void
    try {
      leave = await this.#enter(ask, sender)
    } catch (refusal) {
      const { wake: _, ...once } = ask
      const answer = await store.acquire(once)
      // It may have its place from another node.
      if (answer.granted || answer.place !== null) return answer
      throw refusal
    }
    const answer = await store.acquire(ask).catch((error: unknown) => {
      leave()
      throw error
    })
    this.#forget(key)
    if (answer.granted || answer.place === null) leave()
    else this.#places.set(key, { ...sender, resource, id, leave })
    const [oldest] = this.#places.keys()
    if (oldest !== undefined && this.#places.size > MAX_PLACES) this.#forget(oldest)
    return answer
  }

  released(by: ReleaseAsk): void {
    if ('id' in by) this.#forget(keyOf(by))
  }

  /** The client was told that it is its turn. */
  called(client: string): void {
    if (this.#checks.has(client)) return
    const { clock, onError } = this.#options
    const check = () =>
      this.#giveUpIfDead(client)
        .catch((error: unknown) => onError('places', error))
        .finally(() => {
          if (this.#checks.get(client) === cancel) this.#checks.delete(client)
        })
    const cancel = clock.setTimer(check, ASKS_AGAIN_WITHIN_MS, true)
    this.#checks.set(client, cancel)
  }

  /** The client has sent a request. */
  #heard(client: string): void {
    this.#checks.get(client)?.()
    this.#checks.delete(client)
  }

  async #enter(ask: Ask, { address }: Sender): Promise<() => void> {
    const { limits } = this.#options
    const { resource } = ask
    if (!ask.wake || address === undefined) return () => {}
    // Who has a place keeps it.
    if (this.#places.has(keyOf(ask))) return limits.count(resource, address)
    try {
      return limits.enter(resource, address)
    } catch {
      await this.#recount((place) => place.resource === resource || place.address === address)
      return limits.enter(resource, address)
    }
  }

  /** Forgets places that do not exist any more: a request may have ended at another node, or have missed its turn. */
  async #recount(isMeant: (place: Place) => boolean): Promise<void> {
    const { store, clock } = this.#options
    const now = clock.monotonic()
    if (now < this.#recountedAt + RECOUNT_MS) return
    this.#recountedAt = now
    const places = [...this.#places.values()].filter(isMeant)
    const resources = [...new Set(places.map(({ resource }) => resource))].slice(0, RECOUNT_RESOURCES)
    const queues = (await store.waiting?.({ resources, limit: RECOUNT_WAITERS })) ?? []
    const found = new Map(queues.map(({ first }, n) => [resources[n], new Set(first.map(({ id }) => id))]))
    for (const place of places)
      if (found.get(place.resource)?.has(place.id) === false) this.#forget(keyOf(place))
  }

  async #giveUpIfDead(client: string): Promise<void> {
    const { store, channels } = this.#options
    const channel = clientChannel(client)
    const call = this.#checks.get(client)
    if ((await channels.occupied(channel)).has(channel)) return
    // It has asked while the other nodes were asked about it.
    if (this.#checks.get(client) !== call) return
    for (const [key, place] of this.#places) {
      if (place.client !== client) continue
      this.#forget(key)
      const { resource, id } = place
      const [leases = []] = await store.read([resource])
      // It may have been granted at another node.
      if (!leases.some((lease) => lease.id === id && lease.state === 'held'))
        await store.release({ resource, id })
    }
  }

  #forget(key: string): void {
    this.#places.get(key)?.leave()
    this.#places.delete(key)
  }
}

/** No name of a resource contains a tab. */
function keyOf({ resource, id }: { readonly resource: string; readonly id: string }): string {
  return `${resource}\t${id}`
}
