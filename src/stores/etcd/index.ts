import type { Stop } from '../../base/abort.ts'
import { expectOptions, expectText, refuse as refuseArgument } from '../../base/arguments.ts'
import { systemClock } from '../../base/clock.ts'
import { type EtcdClient, etcdDatabase } from '../../clients/etcd.ts'
import { etcdError, isLeaseGone } from '../../clients/etcd-errors.ts'
import type { Answer, Ask, LeaseStore, Refusal, ReleaseAsk, Released } from '../../core/index.ts'
import { askAgainIn, RESERVATION_MS } from '../lease-row.ts'
import type { Work } from '../local/calls.ts'
import { StoreCalls } from '../local/store-calls.ts'
import { isWithinKeys, Keys } from './names.ts'
import { type ParsedEvent, Push } from './push.ts'
import { Queries } from './queries.ts'
import { Renewals } from './renewals.ts'
import { Replicas } from './replicas.ts'
import { decodeLease, encodeWaiter, secondsOf } from './rows.ts'
import { Session } from './session.ts'
import { SpareLeases } from './spare-leases.ts'
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
import { Transitions } from './transitions.ts'
import { Turns } from './turns.ts'

export type { EtcdClient } from '../../clients/etcd.ts'

export interface EtcdStoreOptions {
  /** The beginning of all keys of the store. Default `holdfast/`. */
  readonly prefix?: string
  /** How many acquire requests may be in flight. The others wait in this process, in order. Default 32. */
  readonly maxInFlight?: number
}

/**
 * Leases in etcd, which its cluster agrees on. Takes an `Etcd3` of `etcd3`, or one of its namespaces, and leaves it open.
 *
 * @example
 * const leases = createLeases(etcdStore(new Etcd3({ hosts: ['http://a:2379', 'http://b:2379', 'http://c:2379'] })))
 */
export function etcdStore(client: EtcdClient, options: EtcdStoreOptions = {}): LeaseStore {
  const database = etcdDatabase(client)
  expectOptions(options, { prefix: 1, maxInFlight: 1 })
  const { prefix = 'holdfast/', maxInFlight = 32 } = options
  expectText('prefix', prefix)
  const clock = systemClock
  if (isWithinKeys(database.prefix + prefix))
    refuseArgument(
      'prefix',
      `one without /l/, /e/, /k/, /q/ and /s/, which follow the prefix of another store`,
      prefix,
    )
  const keys = new Keys(database.prefix + prefix)
  const spares = new SpareLeases(database, clock)
  const renewals = new Renewals(database)
  const transitions = new Transitions(database, keys, spares, renewals, clock)
  const queries = new Queries(database, keys, transitions, clock)
  const turns = new Turns(clock)
  const replicas = new Replicas()
  const calls = new StoreCalls({
    backend: 'etcd',
    explain: etcdError,
    maxInFlight,
    isCalled: (id) => push.listeners.takeCall(id),
    release: releaseWork,
    // A waiter that asks again has its place already.
    order: ({ id }) => (push.listeners.has(id) ? 'kept' : 'in-turn'),
  })
  const push = new Push({
    database,
    keys,
    read: (resources) => calls.run(() => queries.live(resources)),
    changed,
    begun: () => replicas.clear(),
  })
  const { listeners } = push
  const session = new Session(database, () => listeners.waiting().length > 0)
  /** Resources that are being settled, and whether something happened since. */
  const settling = new Map<string, boolean>()

  return {
    kind: 'etcd',
    supports: { queue: true, push: true, expiry: true, list: true, share: true },

    get load() {
      return calls.load
    },

    acquire(ask, call) {
      database.limit.allow(call?.timeout)
      return calls.acquire(
        ask,
        async (stop) => {
          listeners.expect(ask)
          try {
            const answer = await acquire(ask, stop)
            if (answer.granted) push.granted(answer.lease)
            else listeners.refused(ask.id, answer.place !== null)
            return answer
          } catch (error) {
            listeners.failed(ask.id)
            throw error
          }
        },
        call,
      )
    },

    renew(ask, call) {
      database.limit.allow(call?.timeout)
      return calls.renew(
        async () => {
          const { resource, id, ttl } = ask
          const entry = await renewals.find(keys.key('l', resource, id))
          const lease = entry ? await transitions.extend(resource, decodeLease(entry), ttl) : null
          if (!lease) return { ok: false, holders: await queries.holders(resource) }
          listeners.renewed(lease)
          return { ok: true, lease }
        },
        call,
        ask.resource,
      )
    },

    release(by, call) {
      database.limit.allow(call?.timeout)
      return calls.release(by, releaseWork(by), call)
    },

    read: (resources, call) => calls.run(() => queries.read(resources), call),

    waiting: (query, call) => calls.run(() => queries.waiting(query), call),

    list: (query, call) => calls.run(() => queries.list(query), call),

    sweep: ({ limit }, call) => calls.run((stop) => queries.sweep(limit, stop), call),

    watch: (on, { prefix: names = '' } = {}) =>
      calls.run(async (stop) => {
        const watch = await push.watch(on, names)
        // The caller has gone, and nobody else would end it.
        if (stop.reason) await watch[Symbol.asyncDispose]()
        return watch
      }),

    close,
    [Symbol.asyncDispose]: close,
  }

  async function close(): Promise<void> {
    await calls.close()
    await session.close()
    await Promise.all([push.close(), spares.close()])
  }

  function releaseWork(by: ReleaseAsk): Work<Released> {
    return async () => {
      if ('id' in by) listeners.forget(by.id)
      const { ended, left } = await transitions.release(by)
      const holders = left.map(decodeLease)
      // Of a hundred readers, each that leaves would otherwise ask for the time of all others.
      if (ended) return { ended, holders: queries.atMost(by.resource, holders) }
      return { ended, holders: await queries.records(by.resource, holders) }
    }
  }

  async function acquire(ask: Ask, stop: Stop): Promise<Answer> {
    const { resource, id } = ask
    let state = assumed(ask) ?? (await look(resource, id))
    for (;;) {
      stop.throwIfAborted()
      const own = state.leases.find(({ value }) => value.id === id)
      if (own) {
        const lease = await transitions.extend(resource, own, ask.ttl)
        if (lease) return { granted: true, lease }
        state = await look(resource, id)
      } else if (mayHold(state, ask)) {
        const answer = await transitions.grant(state, ask)
        if (answer) return answer
        state = await look(resource, id)
      } else return refuse(state, ask)
    }
  }

  /** What can be tried without a look: a copy in which it may be granted, or a resource that is free, as most are. */
  function assumed(ask: Ask): ResourceState | undefined {
    const { resource, id, ttl } = ask
    const copy = replicas.find(resource, keys.key('q', resource, id))
    const state = copy && stateOf(copy)
    if (state) return mayHold(state, ask) ? state : undefined
    return spares.has(secondsOf(ttl)) && !listeners.isAwaited(resource) ? unseen(resource) : undefined
  }

  function changed(resource: string, events: readonly ParsedEvent[]): void {
    if (listeners.isAwaited(resource)) replicas.changed(resource, events)
    else return void replicas.forget(resource)
    const found = replicas.find(resource, '')
    try {
      if (found && wakeInTurn(found, '').late.length === 0) return
    } catch {
      // A value that is not ours. The look fails, and so do the requests of the waiters.
    }
    void lookSoon(resource)
  }

  /** After a change. Changes that come during a look are one more look. */
  async function lookSoon(resource: string): Promise<void> {
    if (settling.has(resource)) return void settling.set(resource, true)
    do {
      settling.set(resource, false)
      await calls.run(async () => settle(await find(resource, '', true), '')).catch(() => {})
    } while (settling.get(resource))
    settling.delete(resource)
  }

  /** Reads the resource, without the waiters that missed their turn, and wakes those whose turn it is. */
  async function look(resource: string, id: string): Promise<ResourceState> {
    const state = await settle(await find(resource, id, false), id)
    return isQueueMissing(state) && hasRoom(state) ? settle(await find(resource, id, true), id) : state
  }

  async function find(resource: string, id: string, withQueue: boolean): Promise<Found> {
    const answer = await database.transact([], lookOperations(keys, resource, id, withQueue))
    const found = foundIn(resource, answer, withQueue)
    if (withQueue) replicas.read(found)
    return found
  }

  async function settle(found: Found, id: string): Promise<ResourceState> {
    const { state, late } = wakeInTurn(found, id)
    if (late.length === 0) return state
    await transitions.drop(late)
    return settle(await find(state.resource, id, true), id)
  }

  /** `late`: those that missed their turn. Until they are gone, nobody is woken. */
  function wakeInTurn(found: Found, id: string) {
    const state = stateOf(found)
    const { fresh, absent } = turns.observe(state)
    const late = absent.filter(({ key }) => key !== state.own?.key)
    if (late.length === 0) {
      for (const { value } of fresh) if (value.id !== id) listeners.wake(value.id, 0)
      if (fresh.length > 0) standBy(state.queue.slice(fresh.length), id)
    }
    return { state, late }
  }

  /** The first waiter of this process asks when all before it have missed their turns. Each may take a second. */
  function standBy(later: ResourceState['queue'], id: string): void {
    const place = later.findIndex(({ value }) => value.id !== id && listeners.has(value.id))
    const next = later[place]
    if (next) listeners.wake(next.value.id, (place + 1) * RESERVATION_MS)
  }

  async function refuse(state: ResourceState, ask: Ask): Promise<Refusal> {
    const { resource } = ask
    const [holders, keptFor, place] = await Promise.all([
      queries.records(resource, state.leases),
      Promise.all(keptIn(state).map(({ keys }) => queries.msLeft(keys))),
      ask.wake || state.own ? placeOf(state, ask) : null,
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

  async function placeOf(state: ResourceState, ask: Ask): Promise<number> {
    const { own, queue, resource } = state
    if (!own) return join(ask)
    if (ask.wake && own.lease !== (await session.lease())) await transitions.move(own, await session.lease())
    const place = queue.findIndex(({ entry }) => entry.key === own.key)
    if (place >= 0) return place
    const [found] = await queries.inBatches([
      { get: { ...keys.of('q', resource), byCreation: true, keysOnly: true } },
    ])
    return Math.max(0, found?.entries.findIndex(({ key }) => key === own.key) ?? 0)
  }

  async function join(ask: Ask): Promise<number> {
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
