import { FIRST_CALL_MS } from '../../src/base/options.ts'
import {
  createLeases,
  LeaseError,
  type LeaseEvent,
  type LeaseOptions,
  type LeaseStore,
  type Leases,
  type LeaseTicket,
} from '../../src/core/index.ts'
import { type ChaosStore, chaosStore, type Faults } from '../../src/testing/index.ts'
import { SimProcess } from './process.ts'
import type { Handle, Referee } from './referee.ts'
import type { World } from './world.ts'

const CALL_LIMIT_MS = 5000

/** On which terms a client asks. */
export type Terms = Pick<LeaseOptions, 'share' | 'atLeast' | 'lockDelay'>

interface ClientOptions {
  readonly name: string
  readonly ttl: number
  readonly faults: Faults
  readonly rate: number
  /** One of these for each acquisition. */
  readonly terms?: readonly Terms[]
}

/** A process that takes leases, writes under them, and gives them back, with the real manager. */
export class Client {
  readonly process: SimProcess
  readonly network: ChaosStore
  readonly leases: Leases
  readonly #world: World
  readonly #referee: Referee
  readonly #ttl: number
  readonly #terms: readonly Terms[]
  #stopAsking = false

  constructor(world: World, referee: Referee, store: LeaseStore, options: ClientOptions) {
    const { name, ttl, faults, rate, terms = [{}] } = options
    this.#world = world
    this.#referee = referee
    this.#ttl = ttl
    this.#terms = terms
    this.process = new SimProcess(world, name, rate)
    const clock = { now: () => world.now, monotonic: () => world.now, random: world.random, setTimer: timer }
    function timer(run: () => void, ms: number) {
      return world.after(ms, run)
    }
    this.network = chaosStore(store, { faults, clock })
    const connection = referee.witness(this.process, this.process.connect(this.network))
    this.leases = createLeases(connection, {
      owner: name,
      ttl,
      clock: this.process,
      onEvent: (event) => referee.coverage.hit(`event: ${nameOf(event)}`),
    })
  }

  /** Asks, holds and releases at random until it is told to stop. `next`: who a lease may be handed over to. */
  async work(resources: readonly string[], next: () => Client | undefined): Promise<void> {
    const world = this.#world
    while (!this.#stopAsking) {
      const wait = world.chance(0.2) ? 0 : Math.floor(this.#ttl * world.between(0.2, 3))
      const hold = this.#ttl * world.pick([0.01, 0.3, 1.5]) * world.random()
      const terms = world.pick(this.#terms)
      if (resources.length > 1 && world.chance(0.3)) await this.#holdAll(resources, wait, hold, terms)
      else await this.holdOnce(world.pick(resources), wait, hold, terms, world.chance(0.1) ? next : undefined)
      await this.sleep(this.#ttl * 0.2 * world.random())
    }
  }

  stopAsking(): void {
    this.#stopAsking = true
  }

  /** One acquisition; resolves with whether it was granted. `next`: the client that goes on with the lease. */
  async holdOnce(
    resource: string,
    wait: number,
    hold: number,
    terms: Terms = {},
    next?: () => Client | undefined,
  ): Promise<boolean> {
    const lease = await this.#inTime(`acquire with wait ${wait}`, limitOf(wait), () =>
      this.leases.acquire(resource, { wait, ...terms }),
    )
    if (!lease) return false
    const handle = this.#referee.granted(this.process, lease)
    await this.#hold([handle], hold, () => lease.held)
    const other = next?.()
    if (other && other !== this) await this.#handOver(handle, other, hold)
    else await this.#release([handle], () => lease.release())
    return true
  }

  async #holdAll(resources: readonly string[], wait: number, hold: number, terms: Terms): Promise<void> {
    const { coverage } = this.#referee
    // Each of them may be asked for once more when the wait is used up, and what was granted is given back.
    const limit = limitOf(wait) + (resources.length + 1) * CALL_LIMIT_MS
    const group = await this.#inTime(`acquireAll with wait ${wait}`, limit, () =>
      this.leases.acquireAll(resources, { wait, ...terms }),
    )
    coverage.hit(`acquireAll: ${group ? 'granted' : 'not granted'}`)
    if (!group) return
    const handles = group.leases.map((lease) => this.#referee.granted(this.process, lease))
    await this.#hold(handles, hold, () => group.held)
    await this.#release(handles, () => group.release())
  }

  async #hold(handles: readonly Handle[], hold: number, isHeld: () => boolean): Promise<void> {
    const until = this.process.monotonic() + hold
    const isLost = () => handles.some(({ lease }) => lease.signal.aborted)
    while (!isLost() && !this.#stopAsking && this.process.monotonic() < until) {
      // What is sent while the lease is held may reach the resource at any time.
      if (isHeld())
        for (const handle of handles)
          this.#world.after(this.#world.between(0, this.#ttl), () => this.#referee.write(handle))
      await this.sleep(Math.min(hold / 2, this.#ttl / 4) + 1)
    }
  }

  async #release(handles: readonly Handle[], release: () => Promise<void>): Promise<void> {
    for (const handle of handles) this.#referee.releasing(handle)
    await this.#inTime('release', Math.min(CALL_LIMIT_MS, this.#ttl), release)
  }

  /** The other client goes on with the lease, if its ticket arrives in time. */
  async #handOver(handle: Handle, other: Client, hold: number): Promise<void> {
    const { coverage } = this.#referee
    this.#referee.releasing(handle)
    const ticket = await this.#inTime('detach', CALL_LIMIT_MS, () => handle.lease.detach())
    coverage.hit(`detach: ${ticket ? 'done' : 'refused'}`)
    // It is still this process that holds it.
    if (!ticket) return this.#release([handle], () => handle.lease.release())
    this.#world.after(this.#world.between(0, this.#ttl / 4), () =>
      other.process.deliver(() => void other.#adopt(ticket, hold)),
    )
  }

  async #adopt(ticket: LeaseTicket, hold: number): Promise<void> {
    const { coverage } = this.#referee
    const lease = await this.#inTime('adopt', CALL_LIMIT_MS, () => this.leases.adopt(ticket))
    coverage.hit(`adopt: ${lease ? 'done' : 'refused'}`)
    if (!lease) return
    const handle = this.#referee.granted(this.process, lease)
    await this.#hold([handle], hold, () => lease.held)
    await this.#release([handle], () => lease.release())
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.process.setTimer(resolve, ms))
  }

  /** Nothing hangs: the call ends within its limit, not counting the time for which the process stood still. */
  async #inTime<T>(what: string, limit: number, call: () => Promise<T>): Promise<T | undefined> {
    const { process } = this
    const started = process.monotonic() - process.stoppedFor
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof LeaseError))
        this.#referee.violate(`${what} of ${process.name} rejects with ${error}`)
      return undefined
    } finally {
      const took = process.monotonic() - process.stoppedFor - started
      if (took > limit + 1) this.#referee.violate(`${what} of ${process.name} took ${took} ms`)
    }
  }
}

/** A short TTL does not shorten the one call: a late refusal is still a refusal. */
function limitOf(wait: number): number {
  return wait ? Math.max(wait, FIRST_CALL_MS) : CALL_LIMIT_MS
}

function nameOf(event: LeaseEvent): string {
  switch (event.type) {
    case 'waiting':
      return `waiting, ${event.keptFor === undefined ? event.reason : 'kept'}`
    case 'lost':
      return `lost, ${event.reason}`
    case 'error':
      return `error of ${event.operation}, ${event.error.code}`
    default:
      return event.type
  }
}
