import { FIRST_CALL_MS } from '../../src/base/options.ts'
import {
  createLeases,
  LeaseError,
  type LeaseOptions,
  type LeaseStore,
  type Leases,
} from '../../src/core/index.ts'
import { type ChaosStore, chaosStore, type Faults } from '../../src/testing/index.ts'
import { SimProcess } from './process.ts'
import type { Referee } from './referee.ts'
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
    this.leases = createLeases(connection, { owner: name, ttl, clock: this.process })
  }

  /** Asks, holds and releases at random until it is told to stop. */
  async work(resources: readonly string[]): Promise<void> {
    const world = this.#world
    while (!this.#stopAsking) {
      const wait = world.chance(0.2) ? 0 : Math.floor(this.#ttl * world.between(0.2, 3))
      const hold = this.#ttl * world.pick([0.01, 0.3, 1.5]) * world.random()
      await this.holdOnce(world.pick(resources), wait, hold, world.pick(this.#terms))
      await this.sleep(this.#ttl * 0.2 * world.random())
    }
  }

  stopAsking(): void {
    this.#stopAsking = true
  }

  /** One acquisition; resolves with whether it was granted. */
  async holdOnce(resource: string, wait: number, hold: number, terms: Terms = {}): Promise<boolean> {
    // A short TTL does not shorten the one call: a late refusal is still a refusal.
    const limit = wait ? Math.max(wait, FIRST_CALL_MS) : CALL_LIMIT_MS
    const lease = await this.#inTime(`acquire with wait ${wait}`, limit, () =>
      this.leases.acquire(resource, { wait, ...terms }),
    )
    if (!lease) return false
    const handle = this.#referee.granted(this.process, lease)
    const until = this.process.monotonic() + hold
    while (!lease.signal.aborted && !this.#stopAsking && this.process.monotonic() < until) {
      // What is sent while the lease is held may reach the resource at any time.
      if (lease.held) this.#world.after(this.#world.between(0, this.#ttl), () => this.#referee.write(handle))
      await this.sleep(Math.min(hold / 2, this.#ttl / 4) + 1)
    }
    this.#referee.releasing(handle)
    await this.#inTime('release', Math.min(CALL_LIMIT_MS, this.#ttl), () => lease.release())
    return true
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
