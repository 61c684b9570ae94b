import type { Ask, Lease, LeaseStore } from '../../src/core/index.ts'
import { type LeaseOperation, leaseViolations } from '../../src/testing/history/index.ts'
import { Coverage } from './coverage.ts'
import type { SimProcess } from './process.ts'
import type { World } from './world.ts'

const DRIFT = 0.02
const EPSILON_MS = 0.01
/** Clock rates stay within ±1 %, so that any two differ by no more than the 2 % that a lease allows for. */
export const RATE_ERROR = 0.01

interface Deadline {
  monotonic: number
  wall: number
}

interface Handle {
  readonly process: SimProcess
  readonly lease: Lease
  released: boolean
}

/**
 * Judges the run in true time and from what was sent and answered, never by the word of the manager or of the
 * store: it keeps deadlines of its own, knows every handle of every process, and remembers every token.
 */
export class Referee {
  readonly violations: string[] = []
  readonly trace: string[] = []
  readonly coverage = new Coverage()
  /** Off while the store's own clock jumps: then tokens are all that is promised. */
  #exclusive = true
  #hasJumped = false
  readonly #world: World
  readonly #tracing: boolean
  readonly #names = new Map<string, string>()
  readonly #deadlines = new Map<string, Deadline>()
  readonly #handles = new Set<Handle>()
  /** What the store did, at the moments at which it did it. */
  readonly #history: LeaseOperation[] = []
  readonly #highestWrite = new Map<string, { readonly id: string; readonly token: number }>()

  get exclusive(): boolean {
    return this.#exclusive
  }

  set exclusive(exclusive: boolean) {
    this.#exclusive = exclusive
    this.#hasJumped ||= !exclusive
  }

  constructor(world: World, tracing: boolean) {
    this.#world = world
    this.#tracing = tracing
  }

  note(who: string, what: () => string): void {
    if (this.#tracing)
      this.trace.push(`${(this.#world.now / 1000).toFixed(3).padStart(9)}  ${who.padEnd(8)} ${what()}`)
  }

  violate(what: string): void {
    this.violations.push(`at ${(this.#world.now / 1000).toFixed(3)} s: ${what}`)
    this.note('REFEREE', () => what)
  }

  /** Short names for ids, in order of appearance, so that a replayed run has the same trace. */
  name(id: string): string {
    const known = this.#names.get(id)
    if (known) return known
    const name = `#${this.#names.size + 1}`
    this.#names.set(id, name)
    return name
  }

  /** Around the store itself: notes what it grants, extends and ends, in the order in which it does so. */
  ledger(store: LeaseStore): LeaseStore {
    return {
      ...store,
      acquire: async (ask) => {
        const { replace } = ask
        const forced = replace !== undefined && this.#record('force', ask)
        const asked = this.#record('acquire', ask)
        const answer = await store.acquire(ask)
        asked.end = this.#world.now
        if (!answer.granted) return answer
        asked.token = answer.lease.token
        this.note('store', () => `grants ${ask.resource} to ${this.name(ask.id)} with token ${asked.token}`)
        if (forced) forced.end = asked.end
        if (forced && replace !== 'any') forced.token = replace
        return answer
      },
      ...(store.acquireAll && {
        acquireAll: async (asks: readonly Ask[]) => {
          const asked = asks.map((ask) => this.#record('acquire', ask))
          const grants = (await store.acquireAll?.(asks)) ?? null
          for (const [n, one] of asked.entries()) {
            one.end = this.#world.now
            one.token = grants?.[n]?.lease.token
          }
          const names = asks.map(({ resource }) => resource).join(' and ')
          if (grants) this.note('store', () => `grants ${names} to ${asks[0]?.owner} together`)
          return grants
        },
      }),
      renew: async (ask) => {
        const asked = this.#record('renew', ask)
        const renewal = await store.renew(ask)
        asked.end = this.#world.now
        if (renewal.ok) asked.token = renewal.lease.token
        return renewal
      },
      release: async (by) => {
        const isForced = 'token' in by
        const asked = this.#record(isForced ? 'force' : 'release', { id: '', ...by })
        if (isForced) asked.token = by.token
        const released = await store.release(by)
        asked.end = this.#world.now
        return released
      },
    }
  }

  #record(
    kind: LeaseOperation['kind'],
    { resource, id, owner = id, ttl, share, atLeast, lockDelay }: Partial<Ask> & Pick<Ask, 'resource' | 'id'>,
  ): LeaseOperation {
    const at = this.#world.now
    const operation: LeaseOperation = {
      kind,
      resource,
      id,
      by: owner,
      start: at,
      end: Infinity,
      ttl,
      share,
      atLeast,
      lockDelay,
    }
    this.#history.push(operation)
    return operation
  }

  /** What the history of the store shows, when the run is over. */
  judgeHistory(): void {
    const options = { drift: RATE_ERROR, resolutionMs: 1, jumps: this.#hasJumped }
    for (const violation of leaseViolations(this.#history, options)) this.violate(violation)
  }

  /** Between a manager and its connection: sees what the process sent and when the answer reached it. */
  witness(process: SimProcess, store: LeaseStore): LeaseStore {
    const moment = () => ({ monotonic: process.monotonic(), wall: process.now() })
    return {
      ...store,
      acquire: async (ask) => {
        const sent = moment()
        const answer = await store.acquire(ask)
        if (answer.granted) this.#moveDeadline(process, ask, sent)
        return answer
      },
      ...(store.acquireAll && {
        acquireAll: async (asks: readonly Ask[]) => {
          const sent = moment()
          const grants = (await store.acquireAll?.(asks)) ?? null
          if (grants) for (const ask of asks) this.#moveDeadline(process, ask, sent)
          return grants
        },
      }),
      renew: async (ask) => {
        const sent = moment()
        const answer = await store.renew(ask)
        const now = moment()
        const old = this.#deadlines.get(keyOf(process, ask.id))
        // What was lost stays lost, whatever the store says later. Without a deadline, the process adopts the lease.
        if (answer.ok && (!old || (now.monotonic < old.monotonic && now.wall < old.wall)))
          this.#moveDeadline(process, ask, sent)
        return answer
      },
    }
  }

  #moveDeadline(
    process: SimProcess,
    { id, ttl }: { readonly id: string; readonly ttl: number },
    sent: Deadline,
  ): void {
    const key = keyOf(process, id)
    const span = ttl * (1 - DRIFT)
    const deadline = { monotonic: sent.monotonic + span, wall: sent.wall + span }
    const old = this.#deadlines.get(key)
    if (!old || deadline.monotonic > old.monotonic) this.#deadlines.set(key, deadline)
  }

  /** A manager handed this lease to its caller. */
  granted(process: SimProcess, lease: Lease): Handle {
    const handle: Handle = { process, lease, released: false }
    this.note(process.name, () => `has ${lease.resource} as ${this.name(lease.id)}`)
    this.#handles.add(handle)
    this.#checkFits(handle)
    this.#guardDeadline(handle)
    lease.signal.addEventListener('abort', () => {
      this.note(
        process.name,
        () => `is told that ${this.name(lease.id)} is lost: ${lease.signal.reason.message}`,
      )
      this.#handles.delete(handle)
    })
    return handle
  }

  releasing(handle: Handle): void {
    handle.released = true
    this.#handles.delete(handle)
    this.note(handle.process.name, () => `releases ${this.name(handle.lease.id)}`)
  }

  /** A process goes on: before it has dealt with anything, its code may already look at `held`. */
  resumed(process: SimProcess): void {
    for (const handle of [...this.#handles]) if (handle.process === process) this.#checkFits(handle)
  }

  /** No more hold the resource than each of them allows. */
  #checkFits({ process, lease }: Handle): void {
    if (!this.exclusive || !process.running || !lease.held) return
    const { resource } = lease
    const holding = [...this.#handles].filter(
      (other) => other.lease.resource === resource && other.process.running && other.lease.held,
    )
    const limit = Math.min(...holding.map((other) => other.lease.share ?? 1))
    if (holding.length <= limit) return
    const names = holding.map((other) => `${other.process.name} (${other.lease.share ?? 'exclusive'})`)
    this.violate(`${names.join(' and ')} hold ${resource} at the same time`)
  }

  /** Looks at the handle just after its deadline, however often that moves. */
  #guardDeadline(handle: Handle): void {
    const { process, lease } = handle
    const deadline = this.#deadlines.get(keyOf(process, lease.id))
    const spanMs = (lease.expiresAt ?? 0) - lease.acquiredAt
    // Every answer to an earlier renewal has come by then.
    lease.signal.addEventListener('abort', () =>
      process.setTimer(() => {
        if (lease.held) this.violate(`${this.name(lease.id)} of ${process.name} is held again after its loss`)
      }, 2 * spanMs),
    )
    if (!deadline) {
      this.violate(`${this.name(lease.id)} was granted without an answer`)
      return
    }
    process.setTimer(
      () => {
        if (handle.released || lease.signal.aborted) return
        const current = this.#deadlines.get(keyOf(process, lease.id)) as Deadline
        if (process.monotonic() < current.monotonic) return this.#guardDeadline(handle)
        if (lease.held) this.violate(`${this.name(lease.id)} of ${process.name} is held after its deadline`)
        if (!lease.signal.aborted)
          this.violate(`the loss of ${this.name(lease.id)} was not told by its deadline`)
      },
      deadline.monotonic - process.monotonic() + EPSILON_MS,
    )
  }

  /** A write reaches the resource that is protected by the token. */
  write(handle: Handle): void {
    const { resource, id, token, share } = handle.lease
    // The token of a shared lease excludes nobody.
    if (share !== null) return
    const highest = this.#highestWrite.get(resource)
    if (highest && (token < highest.token || (token === highest.token && id !== highest.id))) {
      this.note(resource, () => `refuses ${this.name(id)} with token ${token}`)
      if (this.exclusive && handle.process.running && !handle.released && handle.lease.held)
        this.violate(`${resource} refused the write of its present holder ${handle.process.name}`)
      return
    }
    this.#highestWrite.set(resource, { id, token })
  }
}

/** A lease that was handed over has another deadline in the next process. */
function keyOf(process: SimProcess, id: string): string {
  return `${process.name} ${id}`
}

export type { Handle }
