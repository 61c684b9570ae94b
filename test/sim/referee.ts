import type { Ask, Lease, LeaseStore } from '../../src/core/index.ts'
import type { SimProcess } from './process.ts'
import type { World } from './world.ts'

const DRIFT = 0.02
const EPSILON_MS = 0.01

interface Deadline {
  monotonic: number
  wall: number
}

interface Kept {
  readonly share: number | undefined
  /** The end of `atLeast`. */
  until: number
  expiresAt: number
  lockDelay: number
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
  /** Off while the store's own clock jumps: then tokens are all that is promised. */
  exclusive = true
  readonly #world: World
  readonly #tracing: boolean
  readonly #names = new Map<string, string>()
  readonly #deadlines = new Map<string, Deadline>()
  readonly #handles = new Set<Handle>()
  readonly #lastGrant = new Map<string, { readonly id: string; readonly token: number }>()
  readonly #tokens = new Map<string, number>()
  /** By resource and id: the leases that keep it from others, by the store's clock. */
  readonly #kept = new Map<string, Map<string, Kept>>()
  readonly #highestWrite = new Map<string, { readonly id: string; readonly token: number }>()

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

  /** Around the store itself: sees every grant in the order in which it was made. */
  ledger(store: LeaseStore, now: () => number): LeaseStore {
    return {
      ...store,
      acquire: async (ask) => {
        const answer = await store.acquire(ask)
        if (answer.granted) {
          this.#onStoreGrant(ask, answer.lease.token)
          this.#checkKept(ask, now())
          this.#keep(ask, now())
        }
        return answer
      },
      renew: async (ask) => {
        const renewal = await store.renew(ask)
        const kept = this.#kept.get(ask.resource)?.get(ask.id)
        if (renewal.ok && kept) kept.expiresAt = Math.max(kept.expiresAt, now() + ask.ttl)
        return renewal
      },
      release: async (by) => {
        const released = await store.release(by)
        const { ended } = released
        const kept = ended && this.#kept.get(by.resource)?.get(ended.id)
        if (kept && ended.state === 'released') kept.lockDelay = kept.expiresAt = 0
        if (kept && 'token' in by) kept.until = 0
        return released
      },
    }
  }

  #onStoreGrant({ resource, id, share }: Ask, token: number): void {
    const last = this.#lastGrant.get(resource)
    this.note('store', () => `grants ${resource} to ${this.name(id)} with token ${token}`)
    // Among several, an older lease may be granted again.
    const isAgain = this.#tokens.get(id) === token && (share !== undefined || id === last?.id)
    if (last && token <= last.token && !isAgain)
      this.violate(`token ${token} of ${resource} follows ${last.token}`)
    this.#tokens.set(id, token)
    if (!isAgain) this.#lastGrant.set(resource, { id, token })
  }

  /** What the leases that have ended still keep, nobody else may have. */
  #checkKept({ resource, id, share, replace }: Ask, now: number): void {
    const kept = this.#kept.get(resource)
    if (!this.exclusive || !kept || kept.has(id)) return
    if (replace === 'any') kept.clear()
    const others = [...kept.values()].filter(
      (one) => now < Math.max(one.until, one.expiresAt + one.lockDelay),
    )
    const limit = Math.min(share ?? 1, ...others.map((other) => other.share ?? 1))
    if (others.length >= limit) this.violate(`${resource} was granted while ended leases keep it`)
  }

  #keep({ resource, id, ttl, share, atLeast = 0, lockDelay = 0 }: Ask, now: number): void {
    if (atLeast + lockDelay === 0) return
    const kept = this.#kept.get(resource) ?? new Map<string, Kept>()
    this.#kept.set(resource, kept)
    const expiresAt = Math.max(kept.get(id)?.expiresAt ?? 0, now + ttl)
    const until = kept.get(id)?.until ?? now + atLeast
    kept.set(id, { share, until, expiresAt, lockDelay })
  }

  /** Between a manager and its connection: sees what the process sent and when the answer reached it. */
  witness(process: SimProcess, store: LeaseStore): LeaseStore {
    const moment = () => ({ monotonic: process.monotonic(), wall: process.now() })
    return {
      ...store,
      acquire: async (ask) => {
        const sent = moment()
        const answer = await store.acquire(ask)
        if (answer.granted) this.#moveDeadline(ask, sent)
        return answer
      },
      renew: async (ask) => {
        const sent = moment()
        const answer = await store.renew(ask)
        const now = moment()
        const old = this.#deadlines.get(ask.id)
        // What was lost stays lost, whatever the store says later.
        if (answer.ok && old && now.monotonic < old.monotonic && now.wall < old.wall)
          this.#moveDeadline(ask, sent)
        return answer
      },
    }
  }

  #moveDeadline({ id, ttl }: { readonly id: string; readonly ttl: number }, sent: Deadline): void {
    const span = ttl * (1 - DRIFT)
    const deadline = { monotonic: sent.monotonic + span, wall: sent.wall + span }
    const old = this.#deadlines.get(id)
    if (!old || deadline.monotonic > old.monotonic) this.#deadlines.set(id, deadline)
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
    const deadline = this.#deadlines.get(lease.id)
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
        const current = this.#deadlines.get(lease.id) as Deadline
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

export type { Handle }
