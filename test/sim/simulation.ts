import type { LeaseStore } from '../../src/core/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { Client } from './client.ts'
import { SimProcess } from './process.ts'
import { RATE_ERROR, Referee } from './referee.ts'
import { drawScenario, type Scenario } from './scenario.ts'
import { World } from './world.ts'

const HOUR_MS = 3_600_000
const CALM_DELAY_MS = 5

export interface SimulationOptions {
  readonly trace?: boolean
  /** Wraps the store, for planting a bug in it. */
  readonly store?: (store: LeaseStore) => LeaseStore
  /** Instead of the scenario that the seed draws. */
  readonly scenario?: Scenario
}

export interface Outcome {
  readonly seed: number
  readonly violations: readonly string[]
  readonly trace: readonly string[]
  readonly scenario: Scenario
  readonly coverage: ReadonlyMap<string, number>
}

/** One run of a few virtual minutes: faults, then calm, then the books are checked. The seed decides everything. */
export async function simulate(seed: number, options: SimulationOptions = {}): Promise<Outcome> {
  const world = new World(seed)
  const referee = new Referee(world, options.trace ?? false)
  const drawn = drawScenario(world)
  const { scenario = drawn } = options
  referee.note('scenario', () => JSON.stringify(scenario))
  const run = new Run(world, referee, scenario, options.store ?? ((store) => store))
  await run.storm()
  await run.calm()
  referee.judgeHistory()
  return {
    seed,
    scenario,
    violations: referee.violations,
    trace: referee.trace,
    coverage: referee.coverage.counts,
  }
}

class Run {
  readonly #world: World
  readonly #referee: Referee
  readonly #scenario: Scenario
  readonly #storeProcess: SimProcess
  readonly #store: LeaseStore
  readonly #clients: Client[] = []
  #crashes = 0
  #started = 0
  #stormy = true

  constructor(world: World, referee: Referee, scenario: Scenario, wrap: (store: LeaseStore) => LeaseStore) {
    this.#world = world
    this.#referee = referee
    this.#scenario = scenario
    referee.exclusive = scenario.every.storeJump === Infinity
    this.#storeProcess = new SimProcess(world, 'store', this.#drawRate())
    this.#store = referee.ledger(wrap(memoryStore({ clock: this.#storeProcess })))
  }

  async storm(): Promise<void> {
    const { clients, every, duration, ttl, network, shares, atLeast, lockDelay } = this.#scenario
    const { coverage } = this.#referee
    for (const [fault, how] of Object.entries(network)) if (how) coverage.hit(`network: ${fault}`)
    for (const share of shares) coverage.hit(`share: ${share ?? 'exclusive'}`)
    if (atLeast) coverage.hit('kept: atLeast')
    if (lockDelay) coverage.hit('kept: lockDelay')
    for (let n = 0; n < clients; n++) this.#startClient()
    this.#repeat('pause', every.pause, () => this.#stop(false))
    this.#repeat('suspend', every.suspend, () => this.#stop(true))
    this.#repeat('crash', every.crash, () => this.#crash())
    this.#repeat('partition', every.partition, () =>
      this.#disturb([this.#world.pick(this.#clients)], { loseRequest: 1 }),
    )
    this.#repeat('outage', every.outage, () => this.#disturb(this.#clients, { failBefore: 1 }))
    this.#repeat('clientJump', every.clientJump, () => this.#jumpClient())
    this.#repeat('storeJump', every.storeJump, () => this.#jump(this.#storeProcess, -1))
    this.#repeat('force', every.force, () => this.#force())
    this.#repeat('sweep', ttl * 2, () => void this.#store.sweep({ limit: 10 }))
    await this.#world.runUntil(duration)
    this.#stormy = false
  }

  async calm(): Promise<void> {
    const { ttl, resources, network, atLeast, lockDelay } = this.#scenario
    for (const client of this.#clients) {
      client.process.resume()
      this.#referee.resumed(client.process)
      client.network.faults = { delay: [0, CALM_DELAY_MS] }
      client.stopAsking()
    }
    const kept = Math.max(atLeast, lockDelay)
    // Each client may still wait before the newcomer, and then keeps the resource as well.
    const before = kept * (this.#clients.length + 1) + 1200 * (this.#crashes + this.#clients.length)
    const patience = ttl + before + 10_000
    await this.#someoneAcquires(resources, patience)
    // What the network still carries from the storm may be that late.
    await this.#world.runUntil(this.#world.now + 4 * Number(network.delay?.[1] ?? 0) + ttl * 4 + 20_000)
    this.#referee.exclusive = true
    await this.#handOver()
    await this.#readTogether()
    for (let round = 0; round < 5; round++) await this.#closeCall()
    await this.#closeAll()
  }

  /** After the faults have stopped a newcomer gets every resource: what the dead have left behind runs out. */
  async #someoneAcquires(resources: readonly string[], within: number): Promise<void> {
    const newcomer = this.#newClient()
    for (const resource of resources) {
      let granted: boolean | undefined
      newcomer.holdOnce(resource, Math.floor(within), 0).then((result) => {
        granted = result
      })
      await this.#world.runUntil(this.#world.now + within * 1.05 + 6000)
      if (!granted) this.#referee.violate(`nobody got ${resource} within ${within} ms after the faults`)
    }
  }

  /** Without faults a line is served in its order, each within moments of the release before. */
  async #handOver(): Promise<void> {
    const world = this.#world
    const askers = Array.from({ length: 6 }, () => this.#newClient())
    const order: number[] = []
    const gaps: number[] = []
    let freedAt = Infinity
    for (const [n, asker] of askers.entries()) {
      world.after(n * 3 * CALM_DELAY_MS, async () => {
        if (n === 2) return void asker.holdOnce('line', 5 * CALM_DELAY_MS, 0)
        const lease = await asker.leases.acquire('line', { wait: 60_000 })
        order.push(n)
        gaps.push(world.now - freedAt)
        await asker.sleep(n === 0 ? 30 * CALM_DELAY_MS : 20)
        freedAt = world.now
        await lease.release()
      })
    }
    await world.runUntil(world.now + 30_000)
    if (order.join() !== '0,1,3,4,5') this.#referee.violate(`the queue was served in the order ${order}`)
    const slowest = Math.max(...gaps.slice(1))
    if (slowest > 10 * CALM_DELAY_MS) this.#referee.violate(`a handoff took ${slowest.toFixed(0)} ms`)
    for (const asker of askers) void asker.leases.close()
    await world.runUntil(world.now + 1000)
  }

  /** Without faults, readers are served together, and neither pass a writer nor are passed by one. */
  async #readTogether(): Promise<void> {
    const world = this.#world
    const order: string[] = []
    const started: number[] = []
    const shares = [undefined, Infinity, Infinity, Infinity, undefined, Infinity]
    const askers = shares.map(() => this.#newClient())
    for (const [n, asker] of askers.entries()) {
      const share = shares[n]
      world.after(n * 3 * CALM_DELAY_MS, async () => {
        const lease = await asker.leases.acquire('book', { wait: 60_000, share })
        const handle = this.#referee.granted(asker.process, lease)
        order.push(share ? 'r' : 'w')
        if (n >= 1 && n <= 3) started.push(world.now)
        await asker.sleep(n === 0 ? 30 * CALM_DELAY_MS : 100)
        this.#referee.releasing(handle)
        await lease.release()
      })
    }
    await world.runUntil(world.now + 30_000)
    if (order.join('') !== 'wrrrwr')
      this.#referee.violate(`writers and readers were served as ${order.join('')}`)
    const apart = Math.max(...started) - Math.min(...started)
    if (apart > 10 * CALM_DELAY_MS) this.#referee.violate(`readers began ${apart.toFixed(0)} ms apart`)
    for (const asker of askers) void asker.leases.close()
    await world.runUntil(world.now + 1000)
  }

  /** An asker that comes just when the holder releases is served at once, whichever message arrives first. */
  async #closeCall(): Promise<void> {
    const world = this.#world
    const [holder, asker] = [this.#newClient(), this.#newClient()]
    let waited: number | undefined
    world.after(0, async () => {
      const lease = await holder.leases.acquire('close call')
      world.after(world.between(0, 4 * CALM_DELAY_MS), () => void lease.release())
      const asked = world.now
      const next = await asker.leases.acquire('close call')
      waited = world.now - asked
      await next.release()
    })
    await world.runUntil(world.now + 5000)
    if (waited === undefined || waited > 12 * CALM_DELAY_MS)
      this.#referee.violate(`a handoff took ${waited} ms`)
  }

  async #closeAll(): Promise<void> {
    const open = this.#clients.filter(({ process }) => !process.crashed)
    const closed = Promise.all(open.map(({ leases }) => leases.close())).then(() => true)
    await this.#world.runUntil(this.#world.now + 10_000)
    if (!(await Promise.race([closed, false]))) this.#referee.violate('close() did not end')
    const { leases } = await this.#store.list({ limit: 100 })
    for (const lease of leases) this.#referee.violate(`${lease.resource} is still held by ${lease.owner}`)
  }

  #startClient(): void {
    const client = this.#newClient()
    this.#clients.push(client)
    void client.work(this.#scenario.resources, () => this.#nextOf(client))
  }

  /** Another client that runs. */
  #nextOf(client: Client): Client | undefined {
    const others = this.#clients.filter((other) => other !== client && other.process.running)
    return others.length > 0 ? this.#world.pick(others) : undefined
  }

  #newClient(): Client {
    const { ttl, network, shares, atLeast, lockDelay } = this.#scenario
    const faults = this.#stormy ? network : { delay: [0, CALM_DELAY_MS] as const }
    const name = `client${++this.#started}`
    const kept = {
      ...(atLeast && { atLeast: Math.ceil(atLeast) }),
      ...(lockDelay && { lockDelay: Math.ceil(lockDelay) }),
    }
    const terms = shares.map((share) => ({ share, ...kept }))
    const rate = this.#drawRate()
    return new Client(this.#world, this.#referee, this.#store, { name, ttl, faults, rate, terms })
  }

  #drawRate(): number {
    const world = this.#world
    return 1 + RATE_ERROR * (world.chance(0.5) ? world.pick([-1, 1]) : world.between(-1, 1))
  }

  #repeat(name: string, mean: number, fault: () => void): void {
    if (mean === Infinity) return
    const again = () => {
      this.#world.after(mean * (0.2 + 1.6 * this.#world.random()), () => {
        if (!this.#stormy) return
        this.#referee.coverage.hit(`fault: ${name}`)
        fault()
        again()
      })
    }
    again()
  }

  #stop(suspended: boolean): void {
    const { process } = this.#world.pick(this.#clients)
    if (!process.running) return
    const ms = this.#scenario.ttl * this.#world.between(0.1, 3)
    this.#referee.note(process.name, () => `${suspended ? 'is suspended' : 'stops'} for ${ms.toFixed(0)} ms`)
    process.stop(suspended)
    this.#world.after(ms, () => {
      process.resume()
      this.#referee.note(process.name, () => 'goes on')
      this.#referee.resumed(process)
    })
  }

  #crash(): void {
    const client = this.#world.pick(this.#clients)
    this.#referee.note(client.process.name, () => 'crashes')
    client.process.crash()
    this.#crashes++
    this.#clients.splice(this.#clients.indexOf(client), 1)
    this.#startClient()
  }

  #disturb(clients: readonly Client[], faults: { loseRequest: 1 } | { failBefore: 1 }): void {
    const ms = this.#scenario.ttl * this.#world.between(0.2, 2)
    const names = clients.map(({ process }) => process.name).join()
    this.#referee.note('network', () => `${JSON.stringify(faults)} for ${names} for ${ms.toFixed(0)} ms`)
    for (const { network } of clients) {
      network.faults = { ...this.#scenario.network, ...faults }
      this.#world.after(ms, () => {
        if (this.#stormy) network.faults = this.#scenario.network
      })
    }
  }

  /**
   * Where machines are suspended their wall clock only jumps ahead: with the monotonic clock standing still and
   * the wall clock set back nothing in the process can tell that time has passed. Then the token alone protects.
   */
  #jumpClient(): void {
    this.#jump(this.#world.pick(this.#clients).process, this.#scenario.every.suspend === Infinity ? -1 : 0)
  }

  #jump(process: SimProcess, atLeastHours: -1 | 0): void {
    const ms = HOUR_MS * this.#world.between(atLeastHours, 1)
    this.#referee.note(process.name, () => `its wall clock jumps by ${(ms / 1000).toFixed(0)} s`)
    process.jump(ms)
  }

  #force(): void {
    const resource = this.#world.pick(this.#scenario.resources)
    if (this.#world.chance(0.3)) return void this.#steal(resource)
    void this.#store
      .read([resource])
      .then(([leases]) => leases?.[0] && this.#store.release({ resource, token: leases[0].token }))
  }

  async #steal(resource: string): Promise<void> {
    const thief = { resource, id: `thief${++this.#started}` }
    const { ttl } = this.#scenario
    const answer = await this.#store.acquire({ ...thief, owner: 'thief', ttl, replace: 'any' })
    if (!answer.granted) this.#referee.violate('a steal was refused')
    else this.#referee.coverage.hit(`steal: ${answer.replaced ? 'from a holder' : 'of what is free'}`)
    const [found = []] = await this.#store.read([resource])
    if (found.length !== 1) this.#referee.violate(`a steal left ${found.length} holders`)
    await this.#store.release(thief)
  }
}
