/**
 * Acquire requests, and the turns of those that wait:
 *
 *     assumed or looked up ──▶ own lease: extended
 *                          ──▶ may be granted: a transaction, which fails if something has changed; then it looks again
 *                          ──▶ else refused, with a place in the queue if it waits
 *
 * A change of a resource that somebody here waits for is looked at, and wakes those whose turn it is.
 */
import type { Stop } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import type { EtcdDatabase } from '../../clients/etcd.ts'
import { isLeaseGone } from '../../clients/etcd-errors.ts'
import type { Answer, Ask, Refusal } from '../../core/index.ts'
import { askAgainIn } from '../lease-row.ts'
import type { StoreCalls } from '../local/store-calls.ts'
import { RESERVATION_MS } from '../options.ts'
import type { Keys } from './names.ts'
import type { ParsedEvent, Push } from './push.ts'
import type { Queries } from './queries.ts'
import { Replicas } from './replicas.ts'
import { encodeWaiter, secondsOf } from './rows.ts'
import type { Session } from './session.ts'
import type { SpareLeases } from './spare-leases.ts'
import {
  type Found,
  foundIn,
  hasRoom,
  isQueueMissing,
  keptIn,
  lookOperations,
  mayHold,
  type ResourceState,
  stateOf,
  unseen,
} from './state.ts'
import type { Transitions } from './transitions.ts'
import { WaiterTurns } from './waiter-turns.ts'

export interface RequestsOptions {
  readonly database: EtcdDatabase
  readonly keys: Keys
  readonly clock: Clock
  readonly calls: StoreCalls
  readonly push: Push
  readonly queries: Queries
  readonly session: Session
  readonly spares: SpareLeases
  readonly transitions: Transitions
}

export class Requests {
  readonly #options: RequestsOptions
  readonly #turns: WaiterTurns
  readonly #replicas = new Replicas()
  /** Resources that are being settled, and whether something happened since. */
  readonly #settling = new Map<string, boolean>()

  constructor(options: RequestsOptions) {
    this.#options = options
    this.#turns = new WaiterTurns(options.clock)
  }

  async acquire(ask: Ask, stop: Stop): Promise<Answer> {
    const { transitions } = this.#options
    const { resource, id } = ask
    let state = this.#assumed(ask) ?? (await this.#look(resource, id))
    for (;;) {
      stop.throwIfAborted()
      const own = state.leases.find(({ value }) => value.id === id)
      if (own) {
        const lease = await transitions.extend(resource, own, ask.ttl)
        if (lease) return { granted: true, lease }
        state = await this.#look(resource, id)
      } else if (mayHold(state, ask)) {
        const answer = await transitions.grant(state, ask)
        if (answer) return answer
        state = await this.#look(resource, id)
      } else return this.#refuse(state, ask)
    }
  }

  /** The watch has reported these events. */
  changed(resource: string, events: readonly ParsedEvent[]): void {
    if (!this.#listeners.isAwaited(resource)) return void this.#replicas.forget(resource)
    this.#replicas.changed(resource, events)
    const found = this.#replicas.find(resource, '')
    try {
      if (found && this.#wakeInTurn(found, '').late.length === 0) return
    } catch {
      // A value that is not ours. The look fails, and so do the requests of the waiters.
    }
    void this.#lookSoon(resource)
  }

  /** The watch began anew, so changes may have been missed. */
  forgetCopies(): void {
    this.#replicas.clear()
  }

  get #listeners(): Push['listeners'] {
    return this.#options.push.listeners
  }

  /** What can be tried without a look: a copy in which it may be granted, or a resource that is free, as most are. */
  #assumed(ask: Ask): ResourceState | undefined {
    const { keys, spares } = this.#options
    const { resource, id, ttl } = ask
    const copy = this.#replicas.find(resource, keys.key('q', resource, id))
    const state = copy && stateOf(copy)
    if (state) return mayHold(state, ask) ? state : undefined
    return spares.has(secondsOf(ttl)) && !this.#listeners.isAwaited(resource) ? unseen(resource) : undefined
  }

  /** After a change. Changes that come during a look are one more look. */
  async #lookSoon(resource: string): Promise<void> {
    if (this.#settling.has(resource)) return void this.#settling.set(resource, true)
    do {
      this.#settling.set(resource, false)
      const look = async () => this.#settle(await this.#find(resource, '', true), '')
      await this.#options.calls.run(look).catch(() => {})
    } while (this.#settling.get(resource))
    this.#settling.delete(resource)
  }

  /** Reads the resource, without the waiters that missed their turn, and wakes those whose turn it is. */
  async #look(resource: string, id: string): Promise<ResourceState> {
    const state = await this.#settle(await this.#find(resource, id, false), id)
    return isQueueMissing(state) && hasRoom(state)
      ? this.#settle(await this.#find(resource, id, true), id)
      : state
  }

  async #find(resource: string, id: string, withQueue: boolean): Promise<Found> {
    const { database, keys } = this.#options
    const answer = await database.transact([], lookOperations(keys, resource, id, withQueue))
    const found = foundIn(resource, answer, withQueue)
    if (withQueue) this.#replicas.read(found)
    return found
  }

  async #settle(found: Found, id: string): Promise<ResourceState> {
    const { state, late } = this.#wakeInTurn(found, id)
    if (late.length === 0) return state
    await this.#options.transitions.drop(late)
    return this.#settle(await this.#find(state.resource, id, true), id)
  }

  /** `late`: those that missed their turn. Until they are gone, nobody is woken. */
  #wakeInTurn(found: Found, id: string) {
    const state = stateOf(found)
    const { fresh, absent } = this.#turns.observe(state)
    const late = absent.filter(({ key }) => key !== state.own?.key)
    if (late.length === 0) {
      for (const { value } of fresh) if (value.id !== id) this.#listeners.wake(value.id, 0)
      if (fresh.length > 0) this.#standBy(state.queue.slice(fresh.length), id)
    }
    return { state, late }
  }

  /** The first waiter of this process asks when all before it have missed their turns. Each may take a second. */
  #standBy(later: ResourceState['queue'], id: string): void {
    const place = later.findIndex(({ value }) => value.id !== id && this.#listeners.has(value.id))
    const next = later[place]
    if (next) this.#listeners.wake(next.value.id, (place + 1) * RESERVATION_MS)
  }

  async #refuse(state: ResourceState, ask: Ask): Promise<Refusal> {
    const { queries } = this.#options
    const [holders, keptFor, place] = await Promise.all([
      queries.records(ask.resource, state.leases),
      Promise.all(keptIn(state).map(({ keys }) => queries.msLeft(keys))),
      ask.wake || state.own ? this.#placeOf(state, ask) : null,
    ])
    const times = [...holders.map(({ remaining }) => remaining ?? 0), ...keptFor]
    // Otherwise it is the turn of others.
    const ends = times.length > 0 ? times : [RESERVATION_MS]
    return {
      granted: false,
      holders,
      place,
      retryIn: askAgainIn(ends, ask.share ?? null, place ?? 0),
      ...(keptFor.length > 0 && { keptFor: Math.max(...keptFor) }),
    }
  }

  async #placeOf(state: ResourceState, ask: Ask): Promise<number> {
    const { keys, queries, session, transitions } = this.#options
    const { own, queue, resource } = state
    if (!own) return this.#join(ask)
    if (ask.wake && own.lease !== (await session.lease())) await transitions.move(own, await session.lease())
    const place = queue.findIndex(({ entry }) => entry.key === own.key)
    if (place >= 0) return place
    const [found] = await queries.inBatches([
      { get: { ...keys.of('q', resource), byCreation: true, keysOnly: true } },
    ])
    return Math.max(0, found?.entries.findIndex(({ key }) => key === own.key) ?? 0)
  }

  async #join(ask: Ask): Promise<number> {
    const { push, session, transitions } = this.#options
    await push.open()
    const lease = session.lease()
    try {
      return await transitions.join(ask, encodeWaiter(ask), await lease)
    } catch (error) {
      if (!isLeaseGone(error)) throw error
      session.forget(lease)
      return transitions.join(ask, encodeWaiter(ask), await session.lease())
    }
  }
}
