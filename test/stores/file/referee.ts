import type { Answer, LeaseRecord } from '../../../src/core/index.ts'
import type { Actor, World } from './explore.ts'

export const RESOURCE = 'r'
export const TTL_MS = 1000

/** Makes the calls of all actors, records the answers, and throws if they contradict each other. */
export class Referee {
  readonly tokens: number[] = []
  readonly #world: World
  /** By id: when the lease ends, in elapsed time. Counted from the request, as a handle does. */
  readonly #holds = new Map<string, number>()
  readonly #takenOver = new Set<string>()
  readonly expired: string[] = []

  constructor(world: World) {
    this.#world = world
  }

  async acquires({ store }: Pick<Actor, 'store'>, id: string, replace?: number): Promise<boolean> {
    const earlier = Math.max(0, ...this.tokens)
    const sent = this.#world.elapsed
    const takeOver = replace === undefined ? {} : { replace }
    const answer = await store.acquire({ resource: RESOURCE, id, owner: id, ttl: TTL_MS, ...takeOver })
    if (answer.granted) this.#granted(answer, sent, earlier)
    return answer.granted
  }

  async renews({ store }: Actor, id: string): Promise<void> {
    const sent = this.#world.elapsed
    const renewal = await store.renew({ resource: RESOURCE, id, ttl: TTL_MS })
    if (renewal.ok) this.holds(renewal.lease, sent)
  }

  async releases({ store }: Actor, id: string): Promise<void> {
    this.#holds.delete(id)
    await store.release({ resource: RESOURCE, id })
  }

  async sweeps({ store }: Actor): Promise<void> {
    for (const { id } of await store.sweep({ limit: 10 })) this.#handedOut(id)
  }

  timePasses(ms: number): void {
    this.#world.pass(ms)
  }

  /** An actor was told that it holds this lease. */
  holds({ id, remaining }: Pick<LeaseRecord, 'id' | 'remaining'>, sent: number): void {
    // The answer to an earlier call may come after the takeover.
    if (this.#takenOver.has(id)) return
    this.#holds.set(id, sent + Math.min(remaining ?? 0, TTL_MS))
    const live = [...this.#holds.keys()].filter((holder) => this.#isLive(holder))
    if (live.length > 1) throw new Error(`${live.join(' and ')} hold at once`)
  }

  toJSON(): unknown {
    return [this.tokens, [...this.#holds], [...this.#takenOver], this.expired]
  }

  #isLive(id: string): boolean {
    return this.#world.elapsed < (this.#holds.get(id) ?? 0)
  }

  #granted({ lease, replaced }: Answer & { granted: true }, sent: number, earlier: number): void {
    if (lease.token <= earlier) throw new Error(`token ${lease.token} after ${earlier}`)
    if (this.tokens.includes(lease.token)) throw new Error(`token ${lease.token} was granted twice`)
    this.tokens.push(lease.token)
    if (replaced?.state === 'taken-over') {
      this.#takenOver.add(replaced.id)
      this.#holds.delete(replaced.id)
    }
    if (replaced?.state === 'expired') this.#handedOut(replaced.id)
    this.holds(lease, sent)
  }

  #handedOut(id: string): void {
    if (this.expired.includes(id)) throw new Error(`${id} was handed out twice as expired`)
    if (this.#isLive(id)) throw new Error(`${id} was handed out as expired while it was held`)
    this.expired.push(id)
  }
}
